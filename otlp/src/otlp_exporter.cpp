// SPDX-License-Identifier: BSD-3-Clause
#include "otlp_json.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/otlp/otlp_exporter.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace cinnabar::otlp {
namespace {

struct Easy {
    void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
struct Headers {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};

std::size_t ignore(char*, std::size_t size, std::size_t count, void*) noexcept { return size * count; }

// Returns the HTTP status of the collector's answer; 0: no answer, and `why` gives the reason.
long post(const OtlpOptions& options, const std::string& body, std::string& why) {
    const std::unique_ptr<CURL, Easy> handle(curl_easy_init());
    const std::unique_ptr<curl_slist, Headers> headers(curl_slist_append(nullptr, "Content-Type: application/json"));
    if (!handle || !headers) return why = "no memory", 0;
    CURL* const easy = handle.get();
    (void)curl_easy_setopt(easy, CURLOPT_URL, options.url.c_str());
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    const auto answer_ms = std::max<std::int64_t>(options.answer_max.count() / 1'000, 1);  // 0 would be no limit
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(answer_ms));
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);  // a library must not use signals in a program with threads
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &ignore);
    if (const CURLcode failed = curl_easy_perform(easy); failed != CURLE_OK) {
        why = curl_easy_strerror(failed);
        return 0;
    }
    long status = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

}  // namespace

Result<std::shared_ptr<OtlpExporter>> OtlpExporter::make(OtlpOptions options, TimeSource& clock) {
    if (!options.url.starts_with("http://") && !options.url.starts_with("https://"))
        return Error(Errc::invalid_argument, "the URL of a collector looks like http://127.0.0.1:4318/v1/traces",
                     options.url);
    static std::once_flag once;
    std::call_once(once, [] { (void)curl_global_init(CURL_GLOBAL_DEFAULT); });
    return std::shared_ptr<OtlpExporter>(new OtlpExporter(std::move(options), clock));
}

OtlpExporter::OtlpExporter(OtlpOptions options, TimeSource& clock)
    : SpanExporter(options.spans, clock), options_(std::move(options)) {}

OtlpExporter::~OtlpExporter() { finish(); }

void OtlpExporter::export_spans(const std::vector<hl::SpanRecord>& spans) {
    std::string why;
    const long status = post(options_, otlp_json(options_.service, spans), why);
    if (status >= 200 && status < 300) {
        sent_.fetch_add(spans.size(), std::memory_order_relaxed);
        return;
    }
    count_dropped(spans.size());
    if (why.empty()) why = "it answered " + std::to_string(status);
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "otlp", "%zu spans are lost: %s does not take them: %s", spans.size(),
                options_.url.c_str(), why.c_str());
}

}  // namespace cinnabar::otlp
