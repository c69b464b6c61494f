// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Remote memory".
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>

#include <algorithm>
#include <iostream>
#include <vector>

using namespace cinnabar;

struct Tokens {
    RemoteSpan<double> table;
    Remote<std::uint64_t> readers;
};
inline constexpr Rpc<Tokens()> tokens{"tokens"};

Task<Result<double>> sum_of(NodeRef node, Tokens of) {
    CINNABAR_CO_TRY([[maybe_unused]] const auto before, co_await of.readers.fetch_add(node, 1));
    std::vector<double> rows(of.table.size());
    CINNABAR_CO_TRY([[maybe_unused]] const auto bytes, co_await of.table.read(node, rows));
    double sum = 0;
    for (const double row : rows) sum += row;
    co_return sum;
}

int main() {
    auto owner = Node::listen("tcp://127.0.0.1:0").value();
    std::vector<double> memory(10'000, 0.5);
    std::vector<std::uint64_t> words(1);
    auto table = share(owner, std::span(memory)).value();
    auto counts = share(owner, std::span(words)).value();
    const auto hand_out = [&] {
        const auto count = counts.span(Names::any_version);
        return Tokens{table.span(0, table.size(), Access::read), count[0]};
    };
    owner.serve(tokens, hand_out).value();

    auto [node, peer] = Node::connect(owner.address()).value();
    const Tokens got = node.call(tokens, peer).wait().value();
    std::cout << "sum " << sync_wait(sum_of(node.ref(), got)).value() << ", readers " << words[0] << '\n';

    // Scattered rows, in one call.
    std::vector<double> few(3);
    std::vector<RemoteRead> parts;
    for (std::size_t i = 0; i < few.size(); ++i)
        parts.push_back({got.table[4000 * i].token(), std::as_writable_bytes(std::span(few).subspan(i, 1))});
    std::cout << "read " << read_many(node, parts).wait().value() << " bytes\n";

    // Every hundredth row; the list takes about ten bytes on the wire.
    std::vector<double> picked(100);
    const Region into = node.expose(std::span(picked)).value();
    const auto hundredths = Blocks::strided(0, sizeof(double), 100 * sizeof(double), 100).value();
    const auto read = read_blocks(node, got.table.token(), hundredths, into).wait();
    std::cout << "picked " << read.value() << " bytes\n";

    // Four rows per block; each transfer says which block goes where.
    const auto plan = TransferPlan::make(node, got.table.token(), into, 4 * sizeof(double)).value();
    const std::vector<std::uint32_t> there{7, 2000, 31}, here{0, 2, 1};
    std::cout << "planned " << plan.read(there, here).wait().value() << " bytes\n";

    // The grant is for reading.
    std::cout << "writing: " << to_string(got.table.write(node, memory).wait().code()) << '\n';

    // The memory is used again: first renew, then change it, then hand out new tokens.
    table.renew();
    std::ranges::fill(memory, 0.25);
    std::cout << "the old token: " << to_string(sync_wait(sum_of(node.ref(), got)).code()) << '\n';
    const Tokens fresh = node.call(tokens, peer).wait().value();
    std::cout << "a new one: " << sync_wait(sum_of(node.ref(), fresh)).value() << '\n';

    // A write that notifies the owner.
    const auto writable = table.span();
    table.on_notified([](const RemoteNotice& notice) {
        std::cout << "notice " << notice.value << ": " << notice.bytes << " bytes at " << notice.offset << '\n';
    });
    writable.subspan(8, 2).write(node, std::vector<double>{1, 2}, {.notify = 7}).wait().value();

    // Many writes in progress; the flag is written after the rows.
    RemoteWrites writes(node);
    for (std::size_t i = 0; i < 100; ++i) writes.write(writable[i], 0.5).value();
    writes.fence();
    writes.write(writable[100], 1.0).value();
    writes.flush(WriteLevel::visible).wait().value();

    // From here on nobody accesses it, and it may be freed.
    if (table.withdraw() == Errc::ok) memory = {};
    std::cout << "withdrawn: " << to_string(sync_wait(sum_of(node.ref(), fresh)).code()) << '\n';
}
