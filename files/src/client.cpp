// SPDX-License-Identifier: BSD-3-Clause
#include "session/client_session.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/hl/with_executor.hpp>

#include <utility>

namespace cinnabar::files {
namespace {

// Runs a task of the session on the session's executor, because coroutines of other libraries have no executor.
template <typename T>
hl::Task<T> run_in(ClientSession& session, hl::Task<T> task) {
    return hl::with_executor(session.executor(), std::move(task));
}

}  // namespace

Client::Client(const hl::NodeRef& node, na::Addr server, const Key* key, Keyless keyless)
    : session_(std::make_unique<ClientSession>(node, std::move(server), key, keyless)) {}

Client::~Client() = default;

void Client::limit_rate(std::uint64_t bytes_per_second) noexcept { session_->limit_rate(bytes_per_second); }

hl::Task<Result<void>> Client::open() { return run_in(*session_, session_->open()); }

hl::Task<void> Client::close() { return run_in(*session_, session_->close()); }

hl::Task<Result<Moved>> Client::save(const std::string& path, const std::string& name, SaveMode mode,
                                     BytesMoved progress) {
    return run_in(*session_,
                  session_->save([&path] { return SourceFile::open(path); }, name, mode, std::move(progress)));
}

hl::Task<Result<Moved>> Client::save(OpenSource source, const std::string& name, SaveMode mode, BytesMoved progress) {
    return run_in(*session_, session_->save(std::move(source), name, mode, std::move(progress)));
}

hl::Task<std::vector<Result<Moved>>> Client::save_small(const std::vector<SmallFile>& files, SaveMode mode) {
    return run_in(*session_, session_->save_small(files, mode));
}

std::uint64_t Client::window_bytes() const noexcept { return session_->window_bytes(); }

const AttributePrecision& Client::precision() const noexcept { return session_->precision(); }

hl::Task<Result<Moved>> Client::fetch(const std::string& name, const Root& into, FetchMode mode, BytesMoved progress,
                                      std::function<void(std::uint64_t)> announced) {
    return run_in(*session_, session_->fetch(name, into, std::move(mode), std::move(progress), std::move(announced)));
}

hl::Task<std::vector<Result<Moved>>> Client::fetch_small(const std::vector<ListedFile>& files, const Root& into,
                                                         FetchMode mode) {
    return run_in(*session_, session_->fetch_small(files, into, mode));
}

hl::Task<Result<Moved>> copy(Client& from, const std::string& name, Client& to, const std::string& as, CopyMode mode,
                             BytesMoved progress, std::function<void(std::uint64_t bytes)> announced) {
    return run_in(*from.session_,
                  from.session_->copy(name, *to.session_, as, mode, std::move(progress), std::move(announced)));
}

hl::Task<std::vector<Result<Moved>>> copy_small(Client& from, const std::vector<CopiedFile>& files, Client& to,
                                                CopyMode mode) {
    return run_in(*from.session_, from.session_->copy_small(files, *to.session_, mode));
}

hl::Task<Result<void>> Client::make_folder(const std::string& name) {
    return run_in(*session_, session_->make({{}, MakeKind::folder, name, {}, {}, false}));
}

hl::Task<Result<void>> Client::finish_folder(const std::string& name, const Attributes& attributes) {
    return run_in(*session_, session_->make({{}, MakeKind::finish_folder, name, {}, attributes, false}));
}

hl::Task<Result<void>> Client::make_link(const std::string& name, const std::string& target,
                                         const Attributes& attributes, Existing existing) {
    return run_in(*session_,
                  session_->make({{}, MakeKind::link, name, target, attributes, existing == Existing::replace}));
}

hl::Task<Result<void>> Client::make_hard_link(const std::string& name, const std::string& of, Existing existing) {
    return run_in(*session_, session_->make({{}, MakeKind::hard_link, name, of, {}, existing == Existing::replace}));
}

hl::Task<std::vector<Result<void>>> Client::make_many(const std::vector<NewEntry>& entries) {
    return run_in(*session_, session_->make_many(entries));
}

hl::Task<std::vector<Result<void>>> Client::remove_many(const std::vector<std::string>& names,
                                                        std::optional<std::string_view> no_links_below) {
    return run_in(*session_, session_->remove_many(names, no_links_below));
}

hl::Task<Result<Listing>> Client::list(const std::string& name, ExtendedKinds extended,
                                       std::optional<std::string_view> no_links_below, ListingBudget* budget) {
    return run_in(*session_, session_->list(name, extended, no_links_below, budget));
}

hl::Task<Result<bool>> Client::has_content(OpenSource source, const std::string& name) {
    return run_in(*session_, session_->has_content(std::move(source), name));
}

hl::Task<Result<bool>> Client::was_saved_from(OpenSource source, const std::string& name) {
    return run_in(*session_, session_->was_saved_from(std::move(source), name));
}

hl::Task<Result<Verified>> Client::verify(const std::string& name) { return run_in(*session_, session_->verify(name)); }

hl::Task<Result<Seen>> Client::look(const std::string& name, ExtendedKinds extended) {
    return run_in(*session_, session_->look(name, extended));
}

hl::Task<Result<void>> Client::remove(const std::string& name, std::optional<std::string_view> no_links_below) {
    return run_in(*session_, session_->remove(name, no_links_below));
}

hl::Task<Result<std::vector<Remains>>> Client::list_remains() { return run_in(*session_, session_->list_remains()); }

hl::Task<Result<std::uint32_t>> Client::remove_remains(const std::string& name) {
    return run_in(*session_, session_->remove_remains(name));
}

}  // namespace cinnabar::files
