// SPDX-License-Identifier: BSD-3-Clause
#include "command_subject.hpp"

#include "child.hpp"

#include <utility>

namespace cinnabar::bench {
namespace {

class CommandSubject final : public Subject {
  public:
    explicit CommandSubject(CommandWork command) : command_(std::move(command)) {}

    Slice run_slice(std::chrono::milliseconds) override {
        if (command_.prepare) command_.prepare();
        Slice slice;
        const auto begin = seconds_now();
        run_command(command_.words);
        slice.seconds = seconds_now() - begin;
        slice.work = command_.work();
        return slice;
    }

  private:
    CommandWork command_;
};

}  // namespace

std::unique_ptr<Subject> make_command(CommandWork command) {
    return std::make_unique<CommandSubject>(std::move(command));
}

}  // namespace cinnabar::bench
