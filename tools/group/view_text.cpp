// SPDX-License-Identifier: BSD-3-Clause
#include "group/view_text.hpp"

#include "terminal/json.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/group/layout.hpp>

#include <fmt/format.h>

#include <array>

namespace cinnabar::tools::group {
namespace {

using namespace cinnabar::group;

std::string digest_of(const Stamp& stamp) { return fmt::format("{:016x}", stamp.digest); }

std::string labels_text(const Labels& labels) {
    std::string text;
    for (const auto& [key, value] : labels)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", printable(key), printable(value));
    return text;
}

std::string labels_json(const Labels& labels) {
    std::string text = "{";
    for (const auto& [key, value] : labels)
        text += fmt::format("{}{}: {}", text.size() == 1 ? "" : ", ", json_string(key), json_string(value));
    return text + "}";
}

std::string member_json(const Member& member) {
    JsonObject object;
    object.number("rank", std::uint64_t{member.rank}).text("state", to_string(member.state));
    object.number("incarnation", std::uint64_t{member.incarnation});
    object.text("process", fmt::format("{:016x}", member.process)).text("address", member.address().to_string());
    return object.raw("labels", labels_json(member.labels())).line();
}

std::string placed_json(const Placed& placed) {
    JsonObject object;
    object.number("rank", std::uint64_t{placed.rank}).number("depth", std::uint64_t{placed.depth});
    if (placed.above == no_rank) return object.raw("above", "null").line();
    return object.number("above", std::uint64_t{placed.above}).line();
}

template <typename Items, typename Each>
std::string list_json(const Items& items, Each each) {
    std::string text = "[";
    for (const auto& item : items) text += (text.size() == 1 ? "" : ", ") + each(item);
    return text + "]";
}

std::string_view word_of(Happened happened) {
    constexpr std::array<std::string_view, 7> words{"joined",   "suspected", "trusted", "left",
                                                    "excluded", "drifted",   "missed"};
    return words.at(static_cast<std::size_t>(happened));
}

}  // namespace

std::string view_text(std::string_view name, const View& view) {
    std::string text =
        fmt::format("{}: {} present of {}, version {}, digest {}\n", printable(name), view.present().size(),
                    view.members().size(), view.stamp().version, digest_of(view.stamp()));
    text += "  rank  state     life  address, labels\n";
    for (const Member& member : view.members()) {
        const std::string labels = labels_text(member.labels());
        text += fmt::format("{:>6}  {:<8}  {:>4}  {}{}{}\n", member.rank, to_string(member.state), member.incarnation,
                            printable(member.address().to_string()), labels.empty() ? "" : "  ", labels);
    }
    text += "a call to all goes to";
    for (const Placed& placed : layout_of(view))
        text += fmt::format("\n{:{}}{}", "", 6 + 2 * placed.depth, placed.rank);
    return text;
}

std::string view_json(std::string_view name, const View& view) {
    JsonObject object;
    object.text("event", "view").text("group", name).number("version", view.stamp().version);
    object.text("digest", digest_of(view.stamp())).number("present", std::uint64_t{view.present().size()});
    object.raw("members", list_json(view.members(), member_json));
    return object.raw("tree", list_json(layout_of(view), placed_json)).line();
}

std::string event_text(const Event& event) {
    if (event.happened == Happened::missed) return "missed: there were too many events";
    return fmt::format("{} {}, life {}; version {}, digest {}", word_of(event.happened), event.rank, event.incarnation,
                       event.stamp.version, digest_of(event.stamp));
}

std::string event_json(const Event& event) {
    JsonObject object;
    object.text("event", word_of(event.happened));
    if (event.happened == Happened::missed) return object.line();
    object.number("rank", std::uint64_t{event.rank}).number("incarnation", std::uint64_t{event.incarnation});
    return object.number("version", event.stamp.version).text("digest", digest_of(event.stamp)).line();
}

}  // namespace cinnabar::tools::group
