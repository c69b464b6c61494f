// SPDX-License-Identifier: BSD-3-Clause
#include "commands/reach.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"
#include "watch/command.hpp"
#include "watch/page_site.hpp"

#include <cinnabar/base/parse_number.hpp>

namespace cinnabar::tools::watch {
namespace {

struct Place {
    std::string host;
    std::uint16_t port = 0;
};

// Parses "127.0.0.1:9464".
Result<Place> place_of(const std::string& text) {
    const auto colon = text.rfind(':');
    const Error wrong(Errc::bad_address, "give ADDRESS:PORT, such as 127.0.0.1:9464", text);
    if (colon == std::string::npos) return wrong;
    const auto port = parse_number<decltype(Place::port)>(std::string_view(text).substr(colon + 1));
    if (!port) return wrong;
    return Place{text.substr(0, colon), *port};
}

Result<void> serve(const PageOptions& options, const Interrupt& interrupt) {
    CINNABAR_TRY(const Place place, place_of(options.listen));
    if (!place.host.starts_with("127.") && !options.insecure)
        return Error(Errc::invalid_argument,
                     "other hosts can reach that address, and see everything: give --insecure to allow it",
                     options.listen);
    CINNABAR_TRY(const hl::Connected node, reach(options.to, options.transport, 1, options.tls));
    PageSite site(node, options.to, std::chrono::duration<double>(options.every_seconds));
    CINNABAR_TRY(const auto server, HttpServer::listen(place.host, place.port,
                                                       [&site](const std::string& path) { return site.answer(path); }));
    print_line("listening on http://" + place.host + ":" + std::to_string(server->port()) + "/");
    interrupt.wait();
    return {};
}

}  // namespace

ExitCode run_page(const PageOptions& options) {
    const Interrupt interrupt;
    const auto served = serve(options, interrupt);
    if (served) return ExitCode::ok;
    complain(served.error().message());
    const bool usage = served.code() == Errc::bad_address || served.code() == Errc::invalid_argument;
    return usage ? ExitCode::usage : exit_code(served.code());
}

}  // namespace cinnabar::tools::watch
