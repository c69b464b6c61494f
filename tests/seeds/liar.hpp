// SPDX-License-Identifier: BSD-3-Clause
// A peer of all processes that listen, which follows the format and breaks the manners. Nothing that honest processes
// do may go wrong for it.
#pragma once

#include "../hostile/behaviours.hpp"

#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/request.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::seeds {

class Mesh;

// What a process serves for it.
class LiarService {
  public:
    void serve(rpc::Engine& engine);
    // One of the requests that it holds; false: there is none.
    bool answer_one();

  private:
    std::vector<rpc::Request*> held_;
};

class Liar {
  public:
    explicit Liar(Mesh& mesh);
    ~Liar();

    // One more thing that it should not do, to one of them.
    void act();
    // Reads what came from some of them, if at all.
    void look();
    void leave() noexcept { ends_.clear(); }

  private:
    Mesh& mesh_;
    std::map<std::string, std::unique_ptr<hostile::RudePeer>> ends_;  // by whom it calls
    unsigned step_ = 0;
};

}  // namespace cinnabar::seeds
