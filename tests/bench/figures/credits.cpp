// SPDX-License-Identifier: BSD-3-Clause
#include "../../counts/credit_cost.hpp"
#include "../harness/report.hpp"
#include "figures.hpp"

#include <stdexcept>

namespace cinnabar::bench {
namespace {

std::vector<Row> run_credit_cost(const Settings&) {
    const unsigned long each = counts::credit_cost("tcp");
    if (each == 0) throw std::runtime_error{"callgrind counted nothing: is valgrind installed?"};
    Row row = count_row("credit.cost", static_cast<double>(each), "instr", 40);
    row.remark = "instructions of a call and side, by callgrind";
    return {row};
}

}  // namespace

std::vector<Figure> credit_figures() { return {{"credit.cost", run_credit_cost}}; }

}  // namespace cinnabar::bench
