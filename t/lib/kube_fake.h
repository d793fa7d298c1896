/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted transport for tests of core/kube, and the story of what kube emits as lines of text.
 */
#ifndef MK_T_LIB_KUBE_FAKE_H
#define MK_T_LIB_KUBE_FAKE_H

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/kube/kube.h"
#include "t/lib/tap.h"

enum { FAKE_CLUSTERS = 128, FAKE_MAX = 4096 /* calls, ever */ };

struct fake_call {
	bool open, cancelled, headed;
	uint32_t cluster;
	uint64_t token;
	char method[8], path[1024], accept[96], content_type[64], body[4096], as[128];
	enum transport_class cls;
	int64_t timeout_ms;
	bool gzip;
};

struct fake {
	struct fake_call *calls; /* FAKE_MAX */
	size_t n;
	int opens, closes, resets;
	bool is_open[FAKE_CLUSTERS];
	char host[FAKE_CLUSTERS][256];
	enum mk_code open_code, send_code;
	struct kube *k;
	const struct transport_sink *sink;
	struct arena arena; /* events live here */
	struct kinds kinds;
	char story[65536]; /* events since the last fake_story */
	int64_t mono, wall;
	struct transport transport;
	int renews;
	char token[FAKE_CLUSTERS][256]; /* that a cluster is open with */
	uint64_t run;                   /* the program that runs, 0 none */
	int runs;
	char program[2048]; /* its command, arguments and variables, a line each */
	bool no_program;    /* none can be started */
	struct slice slice; /* of kube_run; without a clock unless a test sets one */
	bool heads; /* streams are answered while time goes on; of what they carry, nothing comes */
	void (*judge)(const struct event *ev); /* is told of events in place of the story */
	bool (*knows)(const struct event *ev); /* NULL: nothing is known */
};

#define KUEUE "kueue.x-k8s.io/v1beta2"

/* What a link that is up is asked by, where it tells its identity. */
#define PROBE "GET /api/v1/namespaces/kube-system"
#define VERSION_DOC "{\"major\":\"1\",\"minor\":\"36\"}"
#define KUEUE_DOC                                                                    \
	"{\"kind\":\"APIResourceList\",\"groupVersion\":\"kueue.x-k8s.io/"           \
	"v1beta2\",\"resources\":["                                                  \
	"{\"name\":\"workloads\",\"kind\":\"Workload\",\"namespaced\":true},"        \
	"{\"name\":\"workloads/status\",\"kind\":\"Workload\",\"namespaced\":true}," \
	"{\"name\":\"admissionchecks\",\"kind\":\"AdmissionCheck\"},"                \
	"{\"name\":\"multikueueconfigs\",\"kind\":\"MultiKueueConfig\"},"            \
	"{\"name\":\"multikueueclusters\",\"kind\":\"MultiKueueCluster\"}]}"
#define BATCH_DOC                                                                     \
	"{\"kind\":\"APIResourceList\",\"groupVersion\":\"batch/v1\",\"resources\":[" \
	"{\"name\":\"jobs/status\",\"kind\":\"Job\",\"namespaced\":true},"            \
	"{\"name\":\"jobs\",\"kind\":\"Job\",\"namespaced\":true}]}"

#define FAKE_KUBECONFIG                                                        \
	"current-context: c\n"                                                 \
	"clusters: [{name: c1, cluster: {server: 'https://10.0.0.1:6443'}}]\n" \
	"users: [{name: u1, user: {token: abc}}]\n"                            \
	"contexts: [{name: c, context: {cluster: c1, user: u1}}]\n"

/* Copies what fits, and ends it with a zero byte. */
void fake_copy(char *out, size_t size, mk_str s);

/* A kube on a fake transport, with three programs for credentials and no cluster yet. */
void fake_init(struct fake *f, uint64_t seed);

/* Frees it all. */
void fake_done(struct fake *f);

/* The head of an answer arrives: status, content type, pause asked for (-1: none). */
void fake_head(struct fake *f, uint64_t token, int status, const char *type, int64_t after);

/* Moves time on in steps to each thing that is due. */
void fake_wait(struct fake *f, int64_t ms);

/* The latest open call of a cluster whose "METHOD path" contains 'part'; NULL = none. */
struct fake_call *fake_find(struct fake *f, uint32_t cluster, const char *part);

/*
 * The token of the latest open call like 'part'; 0, and a list of what is open in
 * the output, when there is none.
 */
uint64_t fake_token(struct fake *f, uint32_t cluster, const char *part);

/* A piece of an answer's body arrives. */
void fake_chunk(struct fake *f, uint64_t token, const char *bytes);

/* A call ends so. */
void fake_end(struct fake *f, uint64_t token, enum transport_end end, enum mk_code code,
	      const char *text);

/* A complete answer to the call like 'part'. False: there is no such call. */
bool fake_answer(struct fake *f, uint32_t cluster, const char *part, int status, const char *body);

/* The head of a stream. */
uint64_t fake_stream(struct fake *f, uint32_t cluster, const char *part);

/* A line of a watch. 'version' e.g. "kueue.x-k8s.io/v1beta2". */
void fake_line(struct fake *f, uint64_t token, const char *type, const char *version,
	       const char *kind, const char *ns, const char *name, uint64_t rv);

/* A bookmark that ends the initial events of a watch, at version 'rv'. */
void fake_mark(struct fake *f, uint64_t token, const char *version, const char *kind, uint64_t rv);

/* What was emitted since the last call; forgets it. Valid until then. */
const char *fake_story(struct fake *f);

/* Answers probe, identity and discovery of a cluster that connects. */
bool fake_handshake(struct fake *f, uint32_t cluster, const char *uid);

/* A streaming list without objects. */
void fake_empty(struct fake *f, uint32_t cluster, const char *part, const char *version,
		const char *kind, uint64_t rv);

/* A line of the Secret watch with this kubeconfig. */
void fake_secret(struct fake *f, uint64_t token, const char *type, const char *name,
		 const char *kubeconfig, uint64_t rv);

/* The manager, up, with all lists empty but for the Secret s1. */
void fake_manager(struct fake *f);
/* The same in two steps: all lists but that of Secrets, whose watch it returns; then that list. */
uint64_t fake_manager_but_secrets(struct fake *f);
void fake_secrets(struct fake *f, uint64_t token);

/* OP_CONNECT: cluster 'id' is to be reached by the kubeconfig of a Secret. */
enum mk_code fake_connect(struct fake *f, cluster_id id, const char *secret);

/* Connects a cluster by what its ClusterProfile says: 'body', JSON. */
enum mk_code fake_profile(struct fake *f, cluster_id id, const char *body);

/* OP_WATCH_OPEN: watches a kind on a cluster. */
enum mk_code fake_watch(struct fake *f, cluster_id id, uint16_t kind, const char *selector);

/*
 * Objects on a stream, so many that it is resumed after a loss and not listed
 * again; all of them of version 'rv'.
 */
void fake_many(struct fake *f, uint64_t token, uint64_t rv);

/* Worker 1, up, its Workload list empty at version 500. */
void fake_worker(struct fake *f);

#endif
