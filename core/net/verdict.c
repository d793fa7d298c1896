/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the end of an exchange means: was the request certainly executed, certainly not, or is it
 * unknown; and the text of the error. The words follow Go's client, whose texts users know;
 * libcurl's own may quote the peer, and are not used. Whether anything was sent follows from our
 * own flag (exchange.started), not from libcurl's code.
 */
#include "core/net/exchange.h"

#include <stdio.h>
#include <string.h>

#include "core/net/tls.h"

static bool has_time(const struct exchange *x, CURLINFO info)
{
	curl_off_t us = 0;

	return curl_easy_getinfo(x->easy, info, &us) == CURLE_OK && us > 0;
}

static void connect_text(const struct exchange *x, char text[static 256])
{
	long e = 0;

	curl_easy_getinfo(x->easy, CURLINFO_OS_ERRNO, &e);
	snprintf(text, 256, "dial tcp %s: %s", x->address[0] ? x->address : x->peer->host,
		 request_dial_words((int)e));
}

static void timeout_text(const struct exchange *x, char text[static 256])
{
	if (x->started) {
		snprintf(text, 256, "context deadline exceeded (no complete answer in time)");
	} else if (!x->address[0] && x->peer->is_http1) {
		snprintf(text, 256, "context deadline exceeded (no connection was free in time)");
	} else if (!x->address[0]) {
		/* Either the name was never resolved, or another exchange held the connection's
		 * making. */
		snprintf(text, 256, "%s%.200s%s",
			 has_time(x, CURLINFO_NAMELOOKUP_TIME_T) ? "dial tcp "
								 : "dial tcp: lookup ",
			 x->peer->host, ": i/o timeout");
	} else if (!has_time(x, CURLINFO_CONNECT_TIME_T)) {
		snprintf(text, 256, "dial tcp %s: i/o timeout", x->address);
	} else {
		snprintf(text, 256, "net/http: TLS handshake timeout");
	}
}

static void verify_text(const struct exchange *x, char text[static 256])
{
	long result = 0;

	curl_easy_getinfo(x->easy, CURLINFO_SSL_VERIFYRESULT, &result);
	if (result <=
	    1) { /* never set: the chain was good, so it was libcurl's comparison of names */
		snprintf(text, 256,
			 "tls: failed to verify certificate: x509: certificate is not "
			 "valid for the server's name");
		return;
	}
	snprintf(text, 256, "tls: failed to verify certificate: %s", tls_verify_text(result));
}

/* A TLS alert about our certificate: in TLS 1.3 it comes after the first request was sent, which
 * the server did not read. */
static bool is_certificate_alert(const struct exchange *x)
{
	return strstr(x->error, "alert") &&
	       (strstr(x->error, "certificate") || strstr(x->error, "unknown ca"));
}

/*
 * A CA of the right name but another key (every cluster's CA may have the same name) fails not as
 * "verify failed" but with the error of the signature arithmetic, which comes from a part of
 * OpenSSL other than its TLS code.
 */
static bool is_signature_failure(const struct exchange *x)
{
	return strstr(x->error, "error:") && strstr(x->error, " routines:") &&
	       !strstr(x->error, "SSL routines");
}

static const char *lost_words(const struct exchange *x)
{
	return x->peer->is_http1 ? "unexpected EOF" : "http2: client connection lost";
}

static enum mk_code own_reason(const struct exchange *x, char text[static 256])
{
	if (x->fenced) {
		snprintf(text, 256, "%s", REQUEST_FENCED);
		return ERR_FENCED;
	}
	if (x->resent) {
		snprintf(text, 256, "%s", lost_words(x));
		return ERR_UNAVAILABLE;
	}
	if (x->too_big) {
		request_too_big_words(!x->head_done,
				      x->head_done ? x->cap : (size_t)EXCHANGE_MAX_HEAD, text);
		return ERR_TOO_BIG;
	}
	if (x->no_memory) {
		snprintf(text, 256, "out of memory");
		return ERR_NO_MEMORY;
	}
	return ERR_OK;
}

static enum mk_code curl_reason(const struct exchange *x, CURLcode rc, char text[static 256])
{
	if (rc == CURLE_OPERATION_TIMEDOUT) {
		timeout_text(x, text);
		return ERR_TIMEOUT;
	}
	if (rc == CURLE_COULDNT_RESOLVE_HOST) {
		snprintf(text, 256, "dial tcp: lookup %.200s: no such host", x->peer->host);
		return ERR_UNAVAILABLE;
	}
	if (rc == CURLE_COULDNT_CONNECT && x->refused) {
		snprintf(text, 256, "dial tcp %s: %s is not allowed (see multiKueue.network)",
			 x->address, x->refused);
		return ERR_DENIED;
	}
	if (rc == CURLE_COULDNT_CONNECT) {
		connect_text(x, text);
		return ERR_UNAVAILABLE;
	}
	if (rc == CURLE_PEER_FAILED_VERIFICATION) {
		verify_text(x, text);
		return ERR_DENIED;
	}
	if (rc == CURLE_SSL_CERTPROBLEM || rc == CURLE_SSL_CACERT_BADFILE ||
	    rc == CURLE_SSL_ENGINE_SETFAILED) {
		snprintf(text, 256, "%s", REQUEST_CREDENTIALS);
		return ERR_DENIED;
	}
	if (is_certificate_alert(x)) {
		snprintf(text, 256, "remote error: tls: bad certificate");
		return ERR_DENIED;
	}
	if (rc == CURLE_SSL_CONNECT_ERROR && is_signature_failure(x)) {
		snprintf(text, 256, "tls: failed to verify certificate: %s",
			 "x509: certificate signed by unknown authority");
		return ERR_DENIED;
	}
	if (rc == CURLE_SSL_CONNECT_ERROR) {
		snprintf(text, 256, "tls: handshake failed: EOF");
		return ERR_UNAVAILABLE;
	}
	if (rc == CURLE_OUT_OF_MEMORY) {
		/* libcurl's word for a line of a head over 100 KiB as well */
		snprintf(text, 256, "%s",
			 x->started && !x->head_done
				 ? "a line of the answer's head is too long, or memory ran out"
				 : "out of memory");
		return ERR_NO_MEMORY;
	}
	snprintf(text, 256, "%s (%s)", lost_words(x), curl_easy_strerror(rc));
	return ERR_UNAVAILABLE;
}

enum mk_code exchange_verdict(const struct exchange *x, CURLcode rc, enum transport_end *ret_end,
			      char text[static 256])
{
	enum mk_code code;

	text[0] = '\0';
	if (rc == CURLE_OK) {
		*ret_end = TRANSPORT_OK;
		return ERR_OK;
	}
	code = own_reason(x, text);
	if (code == ERR_OK) {
		code = curl_reason(x, rc, text);
	}
	if (!x->started || x->fenced || (code == ERR_DENIED && !x->head_done)) {
		*ret_end = TRANSPORT_NOT_SENT;
	} else {
		*ret_end = TRANSPORT_LOST;
	}
	return code;
}
