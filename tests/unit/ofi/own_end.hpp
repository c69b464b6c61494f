// SPDX-License-Identifier: BSD-3-Clause
// An endpoint of the test, and operations that record how they ended.
#pragma once

#include "endpoint.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace cinnabar::ofi {

// Closes the endpoint before the objects that it was opened on.
struct End {
    explicit End(Selection chosen) : selection(std::move(chosen)) {
        fid_fabric* opened = nullptr;
        EXPECT_EQ(::fi_fabric(selection.info->fabric_attr, &opened, nullptr), 0);
        fabric.reset(opened);
        endpoint = Endpoint::open(*fabric, selection).value();
    }
    Selection selection;
    Fid<fid_fabric> fabric;
    std::unique_ptr<Endpoint> endpoint;
};

struct Watched : FabricOp {
    Watched() {
        done = [](FabricOp& self, const Done& how) noexcept {
            auto& watched = static_cast<Watched&>(self);
            ++watched.endings;
            watched.result = how.result;
            watched.words = how.words ? how.words : "";
        };
    }
    unsigned endings = 0;
    Errc result = Errc::ok;
    std::string words;
};

}  // namespace cinnabar::ofi
