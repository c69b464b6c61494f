// SPDX-License-Identifier: BSD-3-Clause
// A hostile peer of all processes that listen: it follows the format and breaks the rules of use. Whatever it does,
// honest processes must not fail.
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

// The handlers that a process has for it.
class LiarService {
  public:
    void serve(rpc::Engine& engine);
    // Answers one of the requests that are held. False: there is none.
    bool answer_one();

  private:
    std::vector<rpc::Request*> held_;
};

class Liar {
  public:
    explicit Liar(Mesh& mesh);
    ~Liar();

    // Does one hostile thing to one of the processes.
    void act();
    // Reads what arrived from some of the processes, or from none.
    void look();
    void leave() noexcept { ends_.clear(); }

  private:
    Mesh& mesh_;
    std::map<std::string, std::unique_ptr<hostile::RudePeer>> ends_;  // by the name of the process that it calls
    unsigned step_ = 0;
};

}  // namespace cinnabar::seeds
