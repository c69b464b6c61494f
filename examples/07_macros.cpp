// For those who come from Mercury: the macro that makes a struct and teaches it to travel.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/macros.hpp>

#include <iostream>

CINNABAR_PROC_STRUCT(OpenIn, ((std::uint32_t)(flags))((std::string)(path)));
CINNABAR_PROC_STRUCT(OpenOut, ((std::int32_t)(handle))((std::uint64_t)(bytes)));
inline constexpr cinnabar::Rpc<OpenOut(OpenIn)> open_file{"open_file"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(open_file, [](const OpenIn& in) { return OpenOut{3, in.path.size() + in.flags}; }).value();
    auto client = cinnabar::Node::open("tcp://").value();
    auto peer = client.lookup(server.address()).value();
    const OpenOut out = client.call_sync(open_file, peer, {100, "/data/run7"}).value();
    std::cout << "handle " << out.handle << ", " << out.bytes << " bytes\n";
}
