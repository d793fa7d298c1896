/* SPDX-License-Identifier: Apache-2.0 */
/* Causes of lost connections; see loss.h. */
#include "core/engine/answers/loss.h"

#include <string.h>

#define RIGHT "give our account on the worker this right: multikueued --print-worker-rbac"
#define SILENT "see whether the worker's API server answers, and whether a firewall is between"
#define CONFIG "correct the worker's kubeconfig"

/* The first row that fits is taken. */
static const struct loss losses[] = {
	{"no such host", "the server's name cannot be resolved (no such host)",
	 "correct the server's name in the worker's kubeconfig"},
	{"dial tcp: lookup", "the server's name is not resolved in time",
	 "see whether the DNS server of this host answers"},
	{"certificate has expired", "the server's certificate is out of date (x509)",
	 "renew the certificate of the worker's API server, and see that both clocks are right"},
	{"not valid for the server's name", "the server's certificate is for another name (x509)",
	 "correct the server's name in the worker's kubeconfig, or set tls-server-name there"},
	{"x509", "the server's certificate is not trusted (x509)",
	 "correct certificate-authority-data in the worker's kubeconfig, or the server's "
	 "certificate"},
	{"provide credentials", "it refuses our credentials (401 Unauthorized)",
	 "put a valid token or certificate into the worker's kubeconfig: this one is refused"},
	{"nauthorized", "it refuses our credentials (401 Unauthorized)",
	 "put a valid token or certificate into the worker's kubeconfig: this one is refused"},
	{"remote error: tls", "it refuses our client certificate (TLS alert)",
	 "put a valid certificate into the worker's kubeconfig: this one is refused"},
	{"orbidden", "it gives us no right to what we need (403 Forbidden)", RIGHT},
	{"insecure", "its kubeconfig is insecure", CONFIG},
	{"the manager's own cluster", "its kubeconfig leads to the manager itself", CONFIG},
	{"Secret", "the Secret with its kubeconfig cannot be used",
	 "create or correct this Secret: it holds the kubeconfig"},
	{"kubeconfig", "its kubeconfig cannot be used", CONFIG},
	{"client config failed", "its kubeconfig cannot be used", CONFIG},
	{"workerMemory", "its objects take more than multiKueue.workerMemory",
	 "raise multiKueue.workerMemory, or remove objects on the worker"},
	{"is not allowed (see multiKueue.network)", "its address is not allowed",
	 "allow this kind of address in multiKueue.network, or correct the worker's kubeconfig"},
	{"connection refused", "nothing listens at its address (connection refused)",
	 "see whether the API server of the worker runs"},
	{"unreachable", "there is no way to its address",
	 "see the network between this host and the worker"},
	{"no route", "there is no way to its address",
	 "see the network between this host and the worker"},
	{"no answer to a PING", "it does not answer in time", SILENT},
	{"timeout", "it does not answer in time", SILENT},
	{"timed out", "it does not answer in time", SILENT},
	{"deadline exceeded", "it does not answer in time", SILENT},
	{"connection lost", "its connection broke", "see whether the worker's API server runs"},
	{"connection reset", "its connection broke", "see whether the worker's API server runs"},
	{"EOF", "its connection broke", "see whether the worker's API server runs"},
	{"could not find the requested resource",
	 "no Kubernetes API server is at its address (404)",
	 "correct the server's address in the worker's kubeconfig"},
	{"server groups", "its API server cannot say what it serves",
	 "see the API server of the worker"},
};

const struct loss *loss_of(mk_str text)
{
	for (size_t i = 0; text.n > 0 && i < sizeof(losses) / sizeof(*losses); i++) {
		if (memmem(text.p, text.n, losses[i].words, strlen(losses[i].words))) {
			return &losses[i];
		}
	}
	return NULL;
}
