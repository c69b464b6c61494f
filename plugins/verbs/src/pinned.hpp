// SPDX-License-Identifier: BSD-3-Clause
// Memory for buffers of the plugin: mapped, registered with the device, and not inherited by forked children.
#pragma once

#include "device.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/result.hpp>

#include <memory>

namespace cinnabar::verbs {

struct RegistrationDeleter {
    void operator()(ibv_mr* registration) const noexcept;
};
using Registration = std::unique_ptr<ibv_mr, RegistrationDeleter>;

class Pinned {
  public:
    Pinned() = default;
    // Makes a buffer of zeros. out_of_memory, as registration_error().
    [[nodiscard]] static Result<Pinned> make(const Device& device, std::size_t bytes,
                                             int access = IBV_ACCESS_LOCAL_WRITE);
    Pinned(Pinned&& other) noexcept;
    Pinned& operator=(Pinned&& other) noexcept;
    ~Pinned();

    [[nodiscard]] Bytes bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint32_t lkey() const noexcept { return registration_->lkey; }
    [[nodiscard]] std::uint32_t rkey() const noexcept { return registration_->rkey; }

  private:
    Bytes bytes_;
    Registration registration_;
};

}  // namespace cinnabar::verbs
