/* SPDX-License-Identifier: Apache-2.0 */
/* One GET with libcurl; see fetch.h. */
#include "core/net/fetch.h"

#include <curl/curl.h>

static size_t take(char *p, size_t size, size_t n, void *body)
{
	return buf_add(body, (mk_str){p, size * n}) ? size * n : 0;
}

static CURLcode set_up(CURL *h, const char *url, int64_t timeout_ms, struct buf *body)
{
	CURLcode code = curl_easy_setopt(h, CURLOPT_URL, url);

	code = code ? code : curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http");
	code = code ? code : curl_easy_setopt(h, CURLOPT_PROXY, "");
	code = code ? code : curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	code = code ? code : curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	code = code ? code : curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take);
	return code ? code : curl_easy_setopt(h, CURLOPT_WRITEDATA, body);
}

enum mk_code fetch_get(const char *url, int64_t timeout_ms, struct buf *body, int *ret_status,
		       struct mk_err *err)
{
	CURL *h = curl_easy_init();
	CURLcode code;
	long status = 0;

	if (!h) {
		return err_set(err, ERR_NO_MEMORY, "out of memory");
	}
	code = set_up(h, url, timeout_ms, body);
	code = code ? code : curl_easy_perform(h);
	if (code == CURLE_OK) {
		code = curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	}
	curl_easy_cleanup(h);
	*ret_status = (int)status;
	if (code == CURLE_OUT_OF_MEMORY || code == CURLE_WRITE_ERROR) {
		return err_set(err, ERR_NO_MEMORY, "the answer is too large, or memory ran out");
	}
	if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT) {
		return err_set(err, ERR_INVALID, "%s: expected http://HOST:PORT", url);
	}
	return code == CURLE_OK
		       ? ERR_OK
		       : err_set(err, ERR_UNAVAILABLE, "%s: %s", url, curl_easy_strerror(code));
}
