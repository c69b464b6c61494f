// SPDX-License-Identifier: BSD-3-Clause
// Traces across calls, handlers, pools and transfers, and the file that Perfetto opens.
#include "support/folder.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/trace_file.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar {
namespace {

using hl::Span;
using hl::SpanKind;
using hl::TraceContext;

constexpr Rpc<int(int)> leaf{"trace.leaf"};
constexpr Rpc<int(int)> middle{"trace.middle"};
constexpr Rpc<int(int)> pooled{"trace.pooled"};
constexpr Rpc<int(int)> plain{"trace.plain"};
constexpr Rpc<int(int)> told{"trace.told"};
constexpr Rpc<int(int)> passes_on{"trace.passes_on"};
constexpr Rpc<int(int)> plainly_passes_on{"trace.plainly_passes_on"};
constexpr Rpc<std::uint64_t(Bulk)> fetch{"trace.fetch"};
constexpr Rpc<std::uint64_t(Bulk)> overwrite{"trace.overwrite"};

struct Kept {
    SpanKind kind;
    std::string name;
    TraceContext context;
    std::uint64_t parent;
    TimeUs began_us;
    TimeUs ended_us;
    Errc result;
    std::string peer;
    std::uint64_t bytes;
    hl::CallParts parts_us;
};

class Recorder final : public hl::Tracer {
  public:
    explicit Recorder(bool begins) : begins_(begins) {}
    [[nodiscard]] std::uint32_t one_in() const noexcept override { return begins_ ? 1 : 0; }
    [[nodiscard]] bool records(hl::TraceOrigin origin, TimeUs) noexcept override { return origin != left_out_; }
    void leave_out(hl::TraceOrigin origin) noexcept { left_out_ = origin; }
    void ended(const Span& span) noexcept override {
        const std::lock_guard lock(mutex_);
        kept_.push_back({span.kind, std::string(span.name), span.context, span.parent, span.began_us, span.ended_us,
                         span.result, span.peer ? span.peer->to_string() : "", span.bytes, span.parts_us});
    }
    std::vector<Kept> spans() {
        const std::lock_guard lock(mutex_);
        return kept_;
    }
    // The only span of that kind and name.
    Kept one(SpanKind kind, const std::string& name) {
        std::vector<Kept> found;
        for (const Kept& span : spans()) {
            if (span.kind == kind && span.name == name) found.push_back(span);
        }
        EXPECT_EQ(found.size(), 1u) << name;
        return found.empty() ? Kept{} : found.front();
    }

  private:
    const bool begins_;
    std::optional<hl::TraceOrigin> left_out_;
    std::mutex mutex_;
    std::vector<Kept> kept_;
};

// A node that serves and also calls itself, and another node that calls it over tcp.
class Trace : public testing::Test {
  protected:
    void open(std::shared_ptr<hl::Tracer> at_client, std::shared_ptr<hl::Tracer> at_server) {
        NodeOptions options;
        options.tracer = std::move(at_server);
        server_.emplace(Node::listen("tcp://127.0.0.1:0", options).value());
        options.tracer = std::move(at_client);
        client_.emplace(Node::connect(server_->address(), options).value());
        const NodeRef node = server_->ref();
        const Addr own = server_->self_addr();
        server_->serve(leaf, [](int value) { return value; }).value();
        server_->serve(told, [this](Request<int> request) { return seen_ = request.trace(), *request; }).value();
        const auto nested = [node, own](Request<int> request) -> Task<Result<int>> {
            co_return co_await node.call(leaf, own, *request);
        };
        server_->serve(middle, nested).value();
        server_->serve(pooled, nested, on(server_->make_pool().value())).value();
        server_
            ->serve(plain,
                    [node, own](int value) {
                        node.call(leaf, own, value).then([](const Result<int>&) {});
                        return value;
                    })
            .value();
        server_
            ->serve(passes_on,
                    [node, own](Request<int> request) -> Task<Result<int>> {
                        co_return co_await node.call(told, own, *request);
                    })
            .value();
        server_
            ->serve(
                plainly_passes_on,
                [this, node, own](int value) {
                    node.call(told, own, value).then([this](const Result<int>&) { passed_on_.set_value(); });
                    return value;
                },
                on(server_->make_pool().value()))
            .value();
        server_
            ->serve(fetch,
                    [](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
                        auto fetched = co_await request->fetch<std::byte>();
                        if (!fetched) co_return fetched.error();
                        co_return fetched->size();
                    })
            .value();
    }
    int call(const Rpc<int(int)>& rpc, const TraceContext* trace = nullptr) {
        return client_->node.call(rpc, client_->peer, 7, CallOptions{.trace = trace}).wait().value();
    }
    // Waits for the spans, since the handler of a nested call may end after the outer call.
    static void await_spans(Recorder& recorder, std::size_t count) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (recorder.spans().size() < count && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        EXPECT_EQ(recorder.spans().size(), count);
    }
    std::optional<Node> server_;
    std::optional<Connected> client_;
    TraceContext seen_;
    std::promise<void> passed_on_;
};

TEST_F(Trace, ACallAndItsHandlerAreSpansOfOneTrace) {
    const auto recorder = std::make_shared<Recorder>(true);
    open(recorder, recorder);
    ASSERT_EQ(call(leaf), 7);
    await_spans(*recorder, 2);
    const Kept made = recorder->one(SpanKind::call, "trace.leaf");
    const Kept served = recorder->one(SpanKind::handler, "trace.leaf");
    EXPECT_TRUE(made.context);
    EXPECT_EQ(made.parent, 0u);
    EXPECT_EQ(made.peer, server_->address());
    EXPECT_EQ(std::ranges::equal(made.context.id, served.context.id), true);
    EXPECT_EQ(served.parent, made.context.span);
    EXPECT_NE(served.context.span, made.context.span);
    EXPECT_LE(made.began_us, served.began_us);
    EXPECT_LE(served.began_us, served.ended_us);
    EXPECT_EQ(made.result, Errc::ok);
    TimeUs told = 0;
    for (const TimeUs part : made.parts_us) told += part;
    EXPECT_GT(told, 0u) << "where its time went";
    EXPECT_EQ(served.parts_us, hl::CallParts{}) << "that is the call's";
}

TEST_F(Trace, NestedCallsInheritItInCoroutinesOnPoolsAndInPlainHandlers) {
    for (const Rpc<int(int)>* rpc : {&middle, &pooled, &plain}) {
        const auto recorder = std::make_shared<Recorder>(false);
        open(recorder, recorder);
        const TraceContext given{{1, 2}, 3};
        ASSERT_EQ(call(*rpc, &given), 7);
        await_spans(*recorder, 4);
        const std::string name(rpc->name().text);
        const Kept outer = recorder->one(SpanKind::call, name);
        const Kept handler = recorder->one(SpanKind::handler, name);
        const Kept inner = recorder->one(SpanKind::call, "trace.leaf");
        const Kept innermost = recorder->one(SpanKind::handler, "trace.leaf");
        EXPECT_EQ(outer.parent, given.span) << name;
        EXPECT_EQ(handler.parent, outer.context.span) << name;
        EXPECT_EQ(inner.parent, handler.context.span) << name;
        EXPECT_EQ(innermost.parent, inner.context.span) << name;
        for (const Kept& span : recorder->spans()) EXPECT_TRUE(std::ranges::equal(span.context.id, given.id)) << name;
        client_.reset();
        server_.reset();
    }
}

TEST_F(Trace, WithoutATracerTheContextIsPassedOn) {
    open(nullptr, nullptr);
    const TraceContext given{{0xa, 0xb}, 0xc};
    ASSERT_EQ(call(told, &given), 7);
    EXPECT_EQ(seen_, given);
    ASSERT_EQ(call(told), 7);
    EXPECT_FALSE(seen_) << "a later call on the same slots belongs to no trace";
}

TEST_F(Trace, AnUnsampledTraceIsPassedOnAndNotRecorded) {
    const auto recorder = std::make_shared<Recorder>(true);
    open(recorder, recorder);
    const TraceContext given{{0xa, 0xb}, 0xc, false};
    for (const Rpc<int(int)>* rpc : {&told, &passes_on, &plainly_passes_on}) {
        seen_ = {};
        ASSERT_EQ(call(*rpc, &given), 7);
        if (rpc == &plainly_passes_on) passed_on_.get_future().wait();
        EXPECT_EQ(seen_, given) << "no span of this process is between, and the flag travels as well";
    }
    const std::vector<std::byte> memory(1 << 20);
    const Region region = Region::expose(memory).value();
    const Bulk lent(region);
    ASSERT_EQ(client_->node.call(fetch, client_->peer, lent, CallOptions{.trace = &given}).wait().value(),
              memory.size());
    EXPECT_TRUE(recorder->spans().empty());
    ASSERT_EQ(call(told), 7);
    EXPECT_TRUE(seen_ && seen_.sampled) << "a later call on the same slots begins a trace of its own";
    await_spans(*recorder, 2);
}

TEST_F(Trace, WithoutSamplingNoTraceBegins) {
    const auto recorder = std::make_shared<Recorder>(false);
    open(recorder, recorder);
    ASSERT_EQ(call(told), 7);
    EXPECT_FALSE(seen_);
    EXPECT_TRUE(recorder->spans().empty());
    EXPECT_FALSE(hl::current_trace());
}

TEST_F(Trace, ACallThatIsLeftOutBeginsNoTrace) {
    const auto recorder = std::make_shared<Recorder>(true);
    recorder->leave_out(hl::TraceOrigin::here);
    open(recorder, recorder);
    ASSERT_EQ(call(told), 7);
    EXPECT_FALSE(seen_);
    EXPECT_TRUE(recorder->spans().empty());
    const TraceContext given{{0xa, 0xb}, 0xc};
    ASSERT_EQ(call(told, &given), 7);
    EXPECT_TRUE(std::ranges::equal(seen_.id, given.id) && seen_.sampled) << "a trace that has begun goes on";
    await_spans(*recorder, 2);
}

TEST_F(Trace, ARequestThatIsLeftOutTakesWithItWhatItsHandlerDoes) {
    const auto caller = std::make_shared<Recorder>(true);
    const auto server = std::make_shared<Recorder>(true);
    server->leave_out(hl::TraceOrigin::elsewhere);
    open(caller, server);
    for (const Rpc<int(int)>* rpc : {&passes_on, &plainly_passes_on}) {
        seen_ = {};
        ASSERT_EQ(call(*rpc), 7);
        if (rpc == &plainly_passes_on) passed_on_.get_future().wait();
        const Kept made = caller->one(SpanKind::call, std::string(rpc->name().text));
        EXPECT_EQ(seen_, (TraceContext{{made.context.id[0], made.context.id[1]}, made.context.span, false}))
            << "others know the call by the same trace, and do not record it";
    }
    const std::vector<std::byte> memory(1 << 20);
    const Region region = Region::expose(memory).value();
    ASSERT_EQ(client_->node.call(fetch, client_->peer, Bulk(region)).wait().value(), memory.size());
    EXPECT_TRUE(server->spans().empty());
}

TEST_F(Trace, ATransferIsASpanOfItsHandler) {
    const auto recorder = std::make_shared<Recorder>(true);
    open(recorder, recorder);
    const std::vector<std::byte> memory(1 << 20);
    const Region region = Region::expose(memory).value();
    ASSERT_EQ(client_->node.call(fetch, client_->peer, Bulk(region)).wait().value(), memory.size());
    await_spans(*recorder, 3);
    const Kept moved = recorder->one(SpanKind::transfer, "pull");
    EXPECT_EQ(moved.parent, recorder->one(SpanKind::handler, "trace.fetch").context.span);
    EXPECT_EQ(moved.bytes, memory.size());
    EXPECT_EQ(moved.result, Errc::ok);
    EXPECT_EQ(moved.peer, recorder->one(SpanKind::handler, "trace.fetch").peer);
    EXPECT_NE(moved.peer, "");
}

// The memory is lent for reading only.
TEST_F(Trace, ATransferThatCannotStartIsASpanAsWell) {
    const auto recorder = std::make_shared<Recorder>(true);
    open(recorder, recorder);
    server_
        ->serve(overwrite,
                [](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
                    std::vector<std::byte> bytes(1 << 20);
                    co_return co_await request->push(bytes);
                })
        .value();
    const std::vector<std::byte> memory(1 << 20);
    const Region region = Region::expose(memory).value();
    EXPECT_EQ(client_->node.call(overwrite, client_->peer, Bulk(region)).wait().code(), Errc::permission);
    await_spans(*recorder, 3);
    const Kept failed = recorder->one(SpanKind::transfer, "push");
    EXPECT_EQ(failed.result, Errc::permission);
    EXPECT_EQ(failed.bytes, 0u);
    EXPECT_NE(failed.peer, "");
}

TEST_F(Trace, ACallThatFailsSaysSo) {
    const auto recorder = std::make_shared<Recorder>(true);
    open(recorder, recorder);
    constexpr Rpc<int(int)> nobody{"trace.nobody"};
    EXPECT_FALSE(client_->node.call(nobody, client_->peer, 1).wait().ok());
    EXPECT_EQ(recorder->one(SpanKind::call, "trace.nobody").result, Errc::no_such_rpc);
}

TEST(Traceparent, IsThatOfW3c) {
    const std::string text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const auto parsed = hl::parse_traceparent(text);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, (TraceContext{{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736}, 0x00f067aa0ba902b7, true}));
    EXPECT_EQ(hl::to_traceparent(*parsed), text);
    const std::string unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    EXPECT_FALSE(hl::parse_traceparent(unsampled)->sampled);
    EXPECT_EQ(hl::to_traceparent(*hl::parse_traceparent(unsampled)), unsampled);
    EXPECT_TRUE(hl::parse_traceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-will-be").ok());
    EXPECT_EQ(hl::to_traceparent({}), "");
    for (const char* bad : {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
                            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}) {
        EXPECT_EQ(hl::parse_traceparent(bad).code(), Errc::invalid_argument) << bad;
    }
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
}

TEST_F(Trace, AFileHasABeginAndAnEndOfEachSpan) {
    const support::Folder folder;
    const auto file = hl::TraceFile::make(folder.at("trace.json")).value();
    open(file, file);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(call(leaf), 7);
    file->flush();
    const std::string whole_so_far = folder.get("trace.json");
    EXPECT_TRUE(whole_so_far.starts_with("[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":")) << whole_so_far;
    EXPECT_NE(whole_so_far.find("\n{\"ph\":\"b\",\"name\":\"trace.leaf\",\"cat\":\""), std::string::npos)
        << whole_so_far;
    client_.reset();
    server_.reset();
}

TEST_F(Trace, AFileThatWasClosedIsOneArrayOfJson) {
    const support::Folder folder;
    {
        const auto file = hl::TraceFile::make(folder.at("trace.json")).value();
        open(file, file);
        for (int i = 0; i < 10; ++i) ASSERT_EQ(call(leaf), 7);
        client_.reset();
        server_.reset();
        EXPECT_EQ(file->dropped(), 0u);
        EXPECT_EQ(file->failure(), 0);
    }
    const std::string text = folder.get("trace.json");
    EXPECT_EQ(count_of(text, "\"ph\":\"b\""), count_of(text, "\"ph\":\"e\""));
    EXPECT_EQ(count_of(text, "\"kind\":\"call\""), 10u);
    EXPECT_EQ(count_of(text, "\"kind\":\"handler\""), 10u);
    EXPECT_EQ(count_of(text, "\"flow_out\":true"), 10u);
    EXPECT_EQ(count_of(text, "\"flow_in\":true"), 10u);
    EXPECT_GE(count_of(text, "\"us "), 10u) << "of each call some part took time";
    EXPECT_TRUE(text.ends_with("}\n]\n"));
    EXPECT_EQ(count_of(text, "{"), count_of(text, "}"));
}

// Returns what follows `before`, up to a quotation mark.
std::string after_text(const std::string& text, const std::string& before) {
    const std::size_t at = text.find(before);
    if (at == std::string::npos) return "nothing: no " + before;
    const std::size_t begin = at + before.size();
    return text.substr(begin, text.find('"', begin) - begin);
}

TEST_F(Trace, AFileHasANestedCallBelowItsHandler) {
    const support::Folder folder;
    {
        const auto file = hl::TraceFile::make(folder.at("trace.json")).value();
        open(file, file);
        ASSERT_EQ(call(middle), 7);
        client_.reset();
        server_.reset();
    }
    const std::string text = folder.get("trace.json");
    const auto lane = [&](const std::string& name) {
        return after_text(text, R"({"ph":"b","name":")" + name + R"(","cat":"cinnabar","id2":{"local":")");
    };
    EXPECT_EQ(lane("trace.leaf"), lane("trace.middle (handler)")) << text;
    EXPECT_NE(lane("trace.leaf (handler)"), lane("trace.leaf")) << text;
    EXPECT_NE(lane("trace.middle"), lane("trace.middle (handler)")) << text;
}

TEST(TraceFile, ThatCannotBeMadeSaysWhy) {
    const auto made = hl::TraceFile::make("/nonexistent/trace.json");
    EXPECT_EQ(made.code(), Errc::not_found);
    EXPECT_EQ(made.error().subject, "/nonexistent/trace.json");
}

// A device that is always full.
TEST_F(Trace, WhatCannotBeWrittenIsCounted) {
    const auto file = hl::TraceFile::make("/dev/full").value();
    open(file, file);
    ASSERT_EQ(call(leaf), 7);
    client_.reset();
    server_.reset();
    file->flush();
    EXPECT_EQ(file->failure(), ENOSPC);
    EXPECT_EQ(file->dropped(), 2u);
}

// Returns what follows each `before`, up to a quotation mark.
std::set<std::string> all_after(const std::string& text, const std::string& before) {
    std::set<std::string> found;
    for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
        at += before.size();
        found.insert(text.substr(at, text.find('"', at) - at));
    }
    return found;
}

TEST_F(Trace, AFileWithALimitHoldsWholeTracesAndTheNumberOfTheOthers) {
    const support::Folder folder;
    constexpr std::size_t calls = 500;
    {
        const auto file = hl::TraceFile::make(folder.at("trace.json"), {.traces_per_second = 3}).value();
        open(file, file);
        for (std::size_t i = 0; i < calls; ++i) ASSERT_EQ(call(leaf), 7);
        client_.reset();
        server_.reset();
        EXPECT_GT(file->calls_left_out(), 0u);
        EXPECT_EQ(file->requests_left_out(), 0u);
        EXPECT_EQ(file->dropped(), 0u);
    }
    const std::string text = folder.get("trace.json");
    const std::size_t kept = count_of(text, R"("kind":"call")");
    EXPECT_GE(kept, 3u);
    EXPECT_EQ(all_after(text, R"("kind":"call","trace":")"), all_after(text, R"("kind":"handler","trace":")"));
    EXPECT_EQ(count_of(text, R"("kind":"handler")"), kept);
    EXPECT_NE(text.find(R"("args":{"calls":)" + std::to_string(calls - kept) + R"(,"requests":0}})"), std::string::npos)
        << text;
}

TEST_F(Trace, OneInSoManyCallsBeginsATrace) {
    const support::Folder folder;
    hl::SpanExporterOptions options;
    options.one_in = 4;
    const auto file = hl::TraceFile::make(folder.at("trace.json"), options).value();
    open(file, file);
    constexpr std::size_t calls = 400;
    for (std::size_t i = 0; i < calls; ++i) ASSERT_EQ(call(leaf), 7);
    client_.reset();
    server_.reset();
    file->flush();
    const std::size_t spans = count_of(folder.get("trace.json"), "\"args\":{\"kind\":");
    EXPECT_EQ(spans % 2, 0u) << "a call and its handler";
    EXPECT_NEAR(static_cast<double>(spans) / 2, calls / 4, 20);
}

}  // namespace
}  // namespace cinnabar
