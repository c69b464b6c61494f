// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include <nlohmann/json.hpp>

namespace cinnabar::compare {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<bench::Interval>& interval) {
    if (!interval) return nullptr;
    return {{"median", interval->median}, {"low", interval->low}, {"high", interval->high}};
}

Json json_of(const Measured& measured) {
    Json figures = Json::array();
    for (const double figure : measured.figures) figures.push_back(figure > 0 ? Json(figure) : Json(nullptr));
    const Contender& contender = measured.contender;
    return {{"name", contender.name},
            {"version", contender.version},
            {"server", contender.server},
            {"client", contender.client},
            {"remark", contender.remark},
            {"limit", contender.is_limit},
            {"figures", figures},
            {"median", json_of(measured.figure)},
            {"ours_over_it", json_of(measured.ours_over_it)},
            {"failure", measured.failure}};
}

Json json_of(const Compared& work) {
    Json contenders = Json::array();
    for (const Measured& each : work.measured) contenders.push_back(json_of(each));
    return {{"name", work.work.name},
            {"title", work.work.title},
            {"unit", work.work.unit},
            {"missing", work.work.missing},
            {"contenders", contenders}};
}

}  // namespace

std::string to_json(const Report& report) {
    Json works = Json::array();
    for (const Compared& work : report.works) works.push_back(json_of(work));
    const Json whole = {{"machine", report.machine}, {"commit", report.commit}, {"date", report.date},
                        {"seconds", report.seconds}, {"rounds", report.rounds}, {"works", works}};
    return whole.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace cinnabar::compare
