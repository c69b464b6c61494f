// SPDX-License-Identifier: BSD-3-Clause
// A hostile peer of all processes that listen: it follows the format and breaks the rules of use. Whatever it does,
// honest processes must not fail.
#pragma once

#include "../hostile/behaviours.hpp"

#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/request.hpp>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::seeds {

class Mesh;
class Process;

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

  private:
    using End = std::unique_ptr<hostile::RudePeer>;
    // A large result that a life of a process lent to it.
    struct Relic {
        std::string process;
        unsigned life = 0;
        std::vector<std::byte> descriptor;
    };

    void come(End& end, const Process& target);
    // Sends again what it, or another of its ends, sent or got earlier.
    void replay(hostile::RudePeer& end);
    // Reads what was lent to it, without an end; or gives it back.
    void hold(hostile::RudePeer& end, const Process& target);
    // Reads what was lent to it and is not any more, or by another process.
    void dig_up(hostile::RudePeer& end, const Process& target);
    void bury(const Process& target, ConstBytes descriptor);

    Mesh& mesh_;
    std::map<std::string, End> ends_;  // by the name of the process that it calls
    std::deque<Relic> relics_;
    unsigned step_ = 0;
};

}  // namespace cinnabar::seeds
