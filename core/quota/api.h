/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API objects that queue trees are made of, read from JSON: both plans of KEP-1093
 * (ClusterQueues with a parent; ClusterQuotaTrees), LocalQueues, Workloads, ResourceFlavors and
 * what conflicts with a tree. validate.h judges them, api_build.h makes trees of quota.h from them;
 * webhook, controller and command line share all three.
 *
 * 1. api_set_new; 2. api_set_add for each object; 3. api_set_link; then read, validate, build.
 * Everything lives in the arena of the set and borrows from the JSON values given to it. Not
 * thread-safe. Reading never refuses an object: what is wrong with a value becomes a fault of the
 * object, and the value counts as not set.
 */
#ifndef MK_QUOTA_API_H
#define MK_QUOTA_API_H

#include "core/api/amount.h"
#include "core/api/fault.h"
#include "core/api/names.h"
#include "core/base/map.h"

/* Prefix of annotations that carry fields which the served CRD may not have. */
#define API_ANNOTATION NAME_GROUP "/"
#define API_NONE SIZE_MAX

enum api_kind {
	API_QUEUE,    /* ClusterQueue */
	API_TREE,     /* ClusterQuotaTree */
	API_STATUS,   /* ClusterQueueTree */
	API_LQ,       /* LocalQueue */
	API_FLAVOR,   /* ResourceFlavor */
	API_ELASTIC,  /* ElasticQuota of scheduler-plugins */
	API_COHORT,   /* Cohort */
	API_WORKLOAD, /* Workload */
	API_OTHER,    /* anything else: ignored */
};

enum api_policy { API_FIFO, API_FAIR, API_CAPACITY };
enum api_strategy { API_BEST_EFFORT, API_STRICT, API_LQ_FAIR, API_LQ_CAPACITY };
enum api_fence { API_FENCE_UNSET, API_FENCE_OPEN, API_FENCE_CLOSED };

/* --- parts of objects ------------------------------------------------------------------------- */

/*
 * A field that may come by its own path or by an annotation: 'path' names the one in use, even when
 * it is not set.
 */
struct api_int {
	bool set, bad; /* bad: there is a value, but none that can be read */
	int64_t v;
	mk_str path;
};

struct api_text {
	bool set;
	mk_str v;
	mk_str path;
};

struct api_texts {
	bool set;
	mk_str *v;
	size_t n;
	mk_str path;
};

/* One (flavor, resource) pair in a list of FlavorQuotas or in resource groups. */
struct api_quota {
	mk_str flavor, resource;
	size_t group, i, j;        /* index of resource group, flavor and resource where it stood */
	struct api_amount nominal; /* 0 when 'bad' */
	struct api_amount lending, borrowing;
	bool bad;
	bool has_lending, has_borrowing;
	mk_str path; /* of the element: "….flavors[0].resources[1]" */
};

struct api_quotas {
	bool set;    /* the list is there, even empty */
	bool faulty; /* something in it could not be read: it may say less than was meant */
	struct api_quota *v;
	size_t n;
	struct map index; /* "flavor/resource" to struct api_quota; the first of two */
	mk_str path;
};

/* The entry of 'list' for that pair, or NULL. 'key' is "flavor/resource". */
const struct api_quota *api_quotas_get(const struct api_quotas *list, mk_str key);
/* "flavor/resource" in 'a'. */
mk_str api_pair(struct arena *a, mk_str flavor, mk_str resource);

/* Who may take quota from whom; the words are Kueue's. */
enum api_reclaim { API_NEVER, API_LOWER, API_LOWER_OR_NEWER, API_ANY };

/*
 * What a leaf says about preemption, flavors and its own order: from a ClusterQueue or a template.
 */
struct api_behaviour {
	enum api_strategy strategy;
	enum api_reclaim within_queue; /* API_NEVER, API_LOWER, API_LOWER_OR_NEWER */
	enum api_reclaim reclaim;      /* API_NEVER, API_LOWER, API_ANY */
	bool borrow_within;            /* borrowWithinCohort: LowerPriority */
	bool has_threshold;            /* maxPriorityThreshold is set */
	int64_t threshold;
	bool borrow_next_flavor;  /* whenCanBorrow: TryNextFlavor */
	bool preempt_may_stop;    /* whenCanPreempt: MayStopSearch */
	bool preempt_over_borrow; /* preference: PreemptionOverBorrowing */
	int64_t weight;           /* of fairSharing, in thousandths */
	bool has_policy;
	enum api_policy policy;
	enum api_fence fence;
};

/*
 * Where the total of a tree comes from, when not from its own amounts: capacityFrom.workers of a
 * ClusterQuotaTree, or the annotation capacity-from of the root of a tree of parents.
 */
struct api_capacity {
	bool set;
	struct api_text config;        /* multiKueueConfig: the workers that it names */
	const struct json *selector;   /* ... or a label selector of MultiKueueClusters; or NULL */
	const struct json *flavor_map; /* flavor of the workers: flavor of the tree; or NULL */
	int64_t multiplier;            /* of the sum, in thousandths */
	int64_t drop_ms, raise_ms;     /* dropAfter, raiseAfter */
	int64_t lost_ms;               /* lostAfter; -1: not set */
	mk_str path;                   /* "spec.capacityFrom.workers" */
};

/* What a tree has of one pair. */
struct api_total {
	mk_str flavor, resource;
	struct api_amount amount;
};
/*
 * Makes these the amounts in resourceGroup(s) of a spec, in place; pairs that are not among them
 * stay. Out of memory shows in arena_failed.
 */
void api_totals_put(struct arena *a, struct json *spec, const struct api_total *v, size_t n);
/*
 * A live ClusterQuotaTree whose total is from workers gets, in place, the total that its status
 * says. False: out of memory.
 */
bool api_totals_restore(struct arena *a, struct json *tree);

/*
 * Do the labels, "name=value", meet the label selector (matchLabels, matchExpressions)? An empty
 * one is met; one that is wrong is not.
 */
bool api_capacity_selects(const struct json *selector, const mk_str *labels, size_t n);
/*
 * The flavor of the tree that quota of 'flavor' on workers counts for: as flavorMap says, else the
 * same. Borrowed.
 */
mk_str api_capacity_flavor(const struct api_capacity *c, mk_str flavor);

/* --- objects ---------------------------------------------------------------------------------- */

struct api_object {
	enum api_kind kind;
	mk_str ns, name;
	const struct json *json;
	size_t tag;   /* the caller's: where it came from */
	size_t index; /* in api_set.objects */
	size_t item;  /* in the array of its kind */
	/* a second one of the same kind and name: its faults say so, nothing else looks at it */
	bool duplicate;
	struct api_faults faults; /* of reading */
};

/* A ClusterQueue. */
struct api_queue {
	struct api_object *object;
	mk_str name;
	struct api_text parent, cohort;
	struct api_texts children;
	struct api_int min_weight, max_weight;
	struct api_quotas quotas;        /* spec.resourceGroups */
	struct api_quotas max_resources; /* annotation */
	struct api_behaviour behaviour;
	struct api_capacity capacity; /* annotation */
	bool quota_managed;           /* the controller owns resourceGroups */
	bool force;
	int64_t admitted; /* workloads that hold quota, as its status counts them */
};

/* One child in a ClusterQuotaTree. */
struct api_node {
	mk_str name;
	size_t group, index; /* its place: groups[group].nodes[index] */
	struct api_int min_weight, max_weight;
	struct api_quotas min, max;
	const struct json *tmpl;         /* clusterQuotaTemplate or NULL */
	struct api_behaviour *behaviour; /* what it says, or NULL */
	mk_str path;                     /* "spec.hierarchies[a].weightedQuotas[0]" */
	bool again;                      /* the name stood in this tree before (V8) */
};

/* The children of one node in a ClusterQuotaTree. */
struct api_group {
	mk_str key;
	struct api_node *nodes;
	size_t n;
	enum api_fence fence;
	bool has_policy;
	enum api_policy policy;
	size_t depth; /* level of the key, root 1; 0 when it does not hang below the one root */
	mk_str path;  /* "spec.hierarchies[a]" */
};

/* A ClusterQuotaTree. */
struct api_tree {
	struct api_object *object;
	mk_str name;
	bool both_spellings;
	mk_str map_path;          /* "spec.hierarchies", or as it is misspelled */
	struct api_group *groups; /* by key, bytewise */
	size_t n_groups;
	struct map group_index; /* key to struct api_group */
	struct map node_index;  /* name to struct api_node: the first of that name */
	mk_str *roots;          /* keys that no other has as child, in order */
	size_t n_roots;
	bool connected;          /* one root, and everything hangs below it */
	struct api_quotas total; /* resourceGroup(s): T */
	struct api_capacity capacity;
	const struct json *tmpl;
	struct api_behaviour *behaviour; /* of 'tmpl', or NULL */
	bool hdrf;                       /* fairShare: HDRF */
	struct api_faults idle;          /* words that are taken and that nothing acts on yet */
	bool force;
	struct api_text graft_tree, graft_node;
};

struct api_lq {
	struct api_object *object;
	mk_str ns, name, queue;
	int64_t weight; /* thousandths */
};

struct api_flavor {
	struct api_object *object;
	mk_str name;
	struct api_text elastic; /* "namespace/name" */
	const struct json *labels, *taints;
};

/* Where a ClusterQueue stands: in a PlanB tree, in a tree of parents, or nowhere. */
struct api_place {
	mk_str name;
	struct api_queue *queue; /* NULL: there is no such ClusterQueue */
	struct api_tree *tree;   /* the ClusterQuotaTree that has it, or NULL */
	struct api_node *node;   /* its entry there; NULL at the root */
	struct api_place *parent;
	struct api_place *first_child, *last_child, *next; /* PlanA, in the order of the set */
	size_t n_children;
	/* workloads that hold quota: of the queue's status, or those of the set when more */
	int64_t admitted;
	size_t n_lqs;    /* LocalQueues of the set that point at it */
	size_t first_lq; /* the first of them by namespace and name, or API_NONE */
	size_t depth;    /* of the root: 1; 0 in or below a cycle */
	bool in_cycle;   /* one of the queues that make it */
	int state;       /* of the walk that finds depths */
};

struct api_set {
	struct arena *a;
	struct api_object **objects;
	size_t n_objects, size_objects;
	struct api_queue **queues;
	struct api_tree **trees;
	struct api_lq **lqs;
	struct api_flavor **flavors;
	struct api_object **workloads; /* as they came: see api_work.h */
	size_t n_queues, n_trees, n_lqs, n_flavors, n_workloads;
	struct map index;              /* "kind/namespace/name" to struct api_object */
	struct map places;             /* name to struct api_place */
	struct api_place **all_places; /* in order of first mention */
	size_t n_places, size_places;
};

/* An empty set in 'a', which owns everything of it; NULL when out of memory. */
struct api_set *api_set_new(struct arena *a);

/*
 * Reads 'obj' (borrowed; a List adds its items) with the caller's mark 'tag'. Kinds that do not
 * matter are kept as API_OTHER. ERR_INVALID when it is no object with apiVersion, kind and
 * metadata.name; ERR_NO_MEMORY.
 */
enum mk_code api_set_add(struct api_set *set, const struct json *obj, size_t tag,
			 struct mk_err *err);

/*
 * Connects what was added: who is whose child, in which tree, used by which LocalQueues. Where two
 * objects claim the same queue, the one that came first keeps it; 'newest' (index of an object, or
 * API_NONE) came last, wherever it stands. Call it once. ERR_NO_MEMORY.
 */
enum mk_code api_set_link(struct api_set *set, size_t newest, struct mk_err *err);

/* The object of that kind and name; 'ns' empty for kinds without. NULL when there is none. */
struct api_object *api_set_find(const struct api_set *set, enum api_kind kind, mk_str ns,
				mk_str name);
/* By name; NULL when there is none. */
struct api_queue *api_set_queue(const struct api_set *set, mk_str name);
struct api_tree *api_set_tree(const struct api_set *set, mk_str name);
/* NULL when nothing mentions that name. */
struct api_place *api_set_place(const struct api_set *set, mk_str name);
/* The topmost place above 'p' ('p' itself when it has no parent); NULL in or below a cycle. */
struct api_place *api_place_root(struct api_place *p);
/* Does 'p' belong to a tree, of either plan? */
bool api_place_in_tree(const struct api_place *p);
/*
 * Name of the tree that 'p' is in: of the ClusterQuotaTree, or of the root. Empty in a cycle or
 * outside.
 */
mk_str api_place_tree(struct api_place *p);
/*
 * What decides the order of the children of 'p' (its group, its queue, its template), fifo by
 * default.
 */
enum api_policy api_place_policy(const struct api_place *p);

/* The word of a kind, "ClusterQueue". Never NULL. */
const char *api_kind_name(enum api_kind kind);

/*
 * The status of ClusterQueueTree "default": {"trees": [{"root", "nodes": [{"name", "parent",
 * "depth", "leaf", "policy"}]}]} of all PlanA trees of a linked set, breadth first; over
 * API_STATUS_MAX nodes only the first of them, with truncated and nodeCount. NULL when out of
 * memory.
 */
struct json *api_status(struct arena *a, const struct api_set *set);
enum { API_STATUS_MAX = 5000 };

#endif
