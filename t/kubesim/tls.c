/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of the simulated API servers; see tls.h. */
#include "t/kubesim/tls.h"

#include <string.h>

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
		       const unsigned char *in, unsigned in_n, void *arg)
{
	static const unsigned char ours[] = "\x02h2\x08http/1.1";
	const bool *old = SSL_get_app_data(ssl);
	unsigned skip = *old ? 3 : 0;
	unsigned char *chosen;

	(void)arg;
	if (SSL_select_next_proto(&chosen, out_n, ours + skip, (unsigned)sizeof(ours) - 1 - skip,
				  in, in_n) != OPENSSL_NPN_NEGOTIATED) {
		return SSL_TLSEXT_ERR_NOACK;
	}
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* As API servers: who shows a certificate that is not valid is a client without credentials. */
static int take_any(int is_valid, X509_STORE_CTX *store)
{
	(void)is_valid;
	(void)store;
	return 1;
}

SSL_CTX *tls_server_new(const struct pki_pair *server, const struct pki_pair *ca)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (!ctx) {
		return NULL;
	}
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_use_certificate(ctx, server->cert) != 1 ||
	    SSL_CTX_use_PrivateKey(ctx, server->key) != 1 ||
	    X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca->cert) != 1 ||
	    SSL_CTX_add_client_CA(ctx, ca->cert) != 1) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, take_any);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"kubesim", 7);
	SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, NULL);
	/* A thousand clusters have thousands of idle connections. */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	return ctx;
}

SSL *tls_accept_new(SSL_CTX *ctx, bool *http1)
{
	SSL *ssl = SSL_new(ctx);

	if (ssl != NULL) {
		SSL_set_app_data(ssl, http1);
	}
	return ssl;
}

bool tls_is_h2(const SSL *ssl)
{
	const unsigned char *name;
	unsigned n;

	SSL_get0_alpn_selected(ssl, &name, &n);
	return n == 2 && memcmp(name, "h2", 2) == 0;
}

static void get_name(X509_NAME *name, int nid, char *ret, size_t size)
{
	ret[0] = '\0';
	X509_NAME_get_text_by_NID(name, nid, ret, (int)size);
}

bool tls_peer(const SSL *ssl, char *ret_cn, size_t cn_size, char *ret_org, size_t org_size)
{
	X509 *cert =
		SSL_get_verify_result(ssl) == X509_V_OK ? SSL_get1_peer_certificate(ssl) : NULL;

	if (!cert) {
		return false;
	}
	get_name(X509_get_subject_name(cert), NID_commonName, ret_cn, cn_size);
	get_name(X509_get_subject_name(cert), NID_organizationName, ret_org, org_size);
	X509_free(cert);
	return true;
}
