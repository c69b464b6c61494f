// SPDX-License-Identifier: BSD-3-Clause
// Mercury's macros, in Cinnabar's form: one line defines a struct and its encoding.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/macros.hpp>

#include <iostream>

CINNABAR_PROC_STRUCT(OpenIn, ((std::string)(path))((std::int32_t)(flags)));
CINNABAR_PROC_STRUCT(OpenOut, ((std::int32_t)(ret))((std::uint64_t)(handle)));

inline constexpr cinnabar::Rpc<OpenOut(OpenIn)> open_file{"open"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server
        .serve(open_file,
               [](const OpenIn& in) {
                   return OpenOut{in.flags == 0 ? 0 : -1, std::uint64_t{in.path.size()}};
               })
        .value();

    auto [client, peer] = cinnabar::Node::connect(server.address()).value();
    const OpenOut out = client.call(open_file, peer, {"/tmp/a", 0}).wait().value();
    std::cout << "ret " << out.ret << ", handle " << out.handle << '\n';
}
