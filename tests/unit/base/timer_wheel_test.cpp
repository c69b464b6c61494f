// SPDX-License-Identifier: BSD-3-Clause
// The timer wheel against a naive model, a multimap from expiry to timer. The same random choices drive both.
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/timer_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

namespace cinnabar {
namespace {

struct Recorder : WheelTimer {
    std::vector<Recorder*>* fired = nullptr;
    explicit Recorder(std::vector<Recorder*>& into) : fired(&into) {
        fire = [](WheelTimer& self) noexcept {
            auto& me = static_cast<Recorder&>(self);
            me.fired->push_back(&me);
        };
    }
};

struct TimerOwner {
    void fired() noexcept { ++calls; }
    TimerOf<TimerOwner> timer;
    int calls = 0;
};

TEST(TimerWheel, ABoundTimerCallsTheFunctionOfItsOwner) {
    TimerWheel wheel(1000);
    TimerOwner owner;
    owner.timer.bind<&TimerOwner::fired>(owner);
    EXPECT_EQ(&TimerOf<TimerOwner>::owner_of(owner.timer), &owner);
    wheel.arm(owner.timer, 1500);
    EXPECT_EQ(wheel.advance(1499), 0u);
    EXPECT_EQ(owner.calls, 0);
    EXPECT_EQ(wheel.advance(1500), 1u);
    EXPECT_EQ(owner.calls, 1);
}

TEST(TimerWheel, FiresAtItsTimeAndNotBefore) {
    std::vector<Recorder*> fired;
    TimerWheel wheel(1000);
    Recorder timer(fired);
    wheel.arm(timer, 1500);
    EXPECT_TRUE(timer.armed());
    EXPECT_EQ(wheel.armed(), 1u);
    EXPECT_EQ(wheel.advance(1499), 0u);
    EXPECT_TRUE(fired.empty());
    EXPECT_EQ(wheel.advance(1500), 1u);
    ASSERT_EQ(fired.size(), 1u);
    EXPECT_FALSE(timer.armed());
    EXPECT_EQ(wheel.armed(), 0u);
    EXPECT_EQ(wheel.advance(5000), 0u) << "once";
}

TEST(TimerWheel, PastAndPresentFireAtTheNextAdvance) {
    std::vector<Recorder*> fired;
    TimerWheel wheel(1'000'000);
    Recorder past(fired);
    Recorder present(fired);
    wheel.arm(past, 3);
    wheel.arm(present, 1'000'000);
    EXPECT_EQ(wheel.next(), 1'000'000u);
    EXPECT_EQ(wheel.advance(1'000'000), 2u);
}

TEST(TimerWheel, NeverIsNever) {
    std::vector<Recorder*> fired;
    TimerWheel wheel(0);
    Recorder timer(fired);
    wheel.arm(timer, time_never);
    EXPECT_FALSE(timer.armed());
    EXPECT_EQ(wheel.next(), time_never);
    EXPECT_EQ(wheel.advance(TimeUs{1} << 62), 0u);
    wheel.disarm(timer);
    EXPECT_TRUE(fired.empty());
}

TEST(TimerWheel, DisarmedTimersStaySilentAndMayBeArmedAgain) {
    std::vector<Recorder*> fired;
    TimerWheel wheel(0);
    Recorder timer(fired);
    wheel.arm(timer, 100);
    wheel.disarm(timer);
    wheel.disarm(timer);
    EXPECT_FALSE(timer.armed());
    EXPECT_EQ(wheel.next(), time_never);
    EXPECT_EQ(wheel.advance(200), 0u);
    wheel.arm(timer, 300);
    EXPECT_EQ(wheel.advance(300), 1u);
}

TEST(TimerWheel, NextNeverComesLateAndGetsThere) {
    std::vector<Recorder*> fired;
    TimerWheel wheel(12345);
    Recorder timer(fired);
    const TimeUs expires = 12345 + 30'000'000;
    wheel.arm(timer, expires);
    int wakes = 0;
    while (timer.armed()) {
        const TimeUs next = wheel.next();
        ASSERT_LE(next, expires);
        wheel.advance(next);
        ASSERT_LT(++wakes, 12) << "at most one wake for each level";
    }
    EXPECT_EQ(fired.size(), 1u);
}

TEST(TimerWheel, FiresInTheOrderOfExpiry) {
    std::vector<Recorder*> fired;
    TimerWheel wheel(77);
    std::vector<std::unique_ptr<Recorder>> timers;
    Random random(5);
    for (int i = 0; i < 500; ++i) {
        timers.push_back(std::make_unique<Recorder>(fired));
        wheel.arm(*timers.back(), 78 + random.below(10'000'000));
    }
    EXPECT_EQ(wheel.advance(20'000'000), 500u);
    EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end(),
                               [](const Recorder* a, const Recorder* b) { return a->expires < b->expires; }));
}

// At a border many digits of the time turn over at once. A simulated clock may start just before one.
TEST(TimerWheel, CrossesBordersWithoutFiringEarly) {
    const TimeUs border = TimeUs{1} << 48;
    for (const TimeUs expires : {border - 1, border, border + 1, border + 2000, 3 * border + 5}) {
        SCOPED_TRACE(expires);
        std::vector<Recorder*> fired;
        TimerWheel wheel(border - 1000);
        Recorder timer(fired);
        wheel.arm(timer, expires);
        EXPECT_LE(wheel.next(), expires);
        EXPECT_EQ(wheel.advance(expires - 1), 0u);
        EXPECT_LE(wheel.next(), expires);
        EXPECT_EQ(wheel.advance(expires), 1u);
        EXPECT_EQ(wheel.armed(), 0u);
    }
}

TEST(TimerWheel, TheLastMomentsOfTimeWork) {
    std::vector<Recorder*> fired;
    TimerWheel wheel(time_never - 100'000);
    Recorder timer(fired);
    wheel.arm(timer, time_never - 1);
    EXPECT_EQ(wheel.advance(time_never - 2), 0u);
    EXPECT_LE(wheel.next(), time_never - 1);
    EXPECT_EQ(wheel.advance(time_never - 1), 1u);
}

TEST(TimerWheel, ATimerMayArmItselfAndOthersWhileItFires) {
    struct Beat : WheelTimer {
        TimerWheel* wheel = nullptr;
        WheelTimer* other = nullptr;
        std::vector<TimeUs> beats;
    } beat;
    std::vector<Recorder*> fired;
    Recorder other(fired);
    TimerWheel wheel(0);
    beat.wheel = &wheel;
    beat.other = &other;
    beat.fire = [](WheelTimer& self) noexcept {
        auto& me = static_cast<Beat&>(self);
        me.beats.push_back(me.expires);
        if (me.beats.size() == 2) me.wheel->arm(*me.other, me.expires + 1);
        if (me.beats.size() == 3) me.wheel->disarm(*me.other);
        if (me.beats.size() < 5) me.wheel->arm(me, me.expires + 100);
    };
    wheel.arm(beat, 100);
    EXPECT_EQ(wheel.advance(250), 3u) << "two beats and the other, all due by then";
    EXPECT_EQ(fired.size(), 1u);
    wheel.arm(other, 301);
    EXPECT_EQ(wheel.advance(1000), 3u) << "the third beat took the other one off";
    EXPECT_EQ(fired.size(), 1u);
    EXPECT_EQ(beat.beats, (std::vector<TimeUs>{100, 200, 300, 400, 500}));
}

TEST(TimerWheel, ATimerThatArmsItselfInThePastFiresOnceAnAdvance) {
    struct Again : WheelTimer {
        TimerWheel* wheel = nullptr;
        TimeUs back = 0;  // how far in the past
        unsigned fired = 0;
    };
    for (const TimeUs back : {TimeUs{0}, TimeUs{1}, TimeUs{500}}) {
        SCOPED_TRACE(back);
        TimerWheel wheel(1000);
        Again again;
        again.wheel = &wheel;
        again.back = back;
        again.fire = [](WheelTimer& self) noexcept {
            auto& me = static_cast<Again&>(self);
            if (++me.fired < 100) me.wheel->arm(me, 1500 - me.back);
        };
        wheel.arm(again, 1500);
        EXPECT_EQ(wheel.advance(1500), 1u);
        EXPECT_EQ(wheel.armed(), 1u);
        EXPECT_EQ(wheel.next(), 1500u) << "at once, but not in the same advance";
        EXPECT_EQ(wheel.advance(1500), 1u);
        EXPECT_EQ(wheel.advance(90'000), 1u);
        wheel.disarm(again);
        EXPECT_EQ(wheel.next(), time_never);
        EXPECT_EQ(wheel.advance(100'000), 0u);
        EXPECT_EQ(again.fired, 3u);
    }
}

TEST(TimerWheel, ATimerArmedInThePastByAnotherMayBeDisarmedByAThird) {
    struct Armer : WheelTimer {
        TimerWheel* wheel = nullptr;
        WheelTimer* other = nullptr;
        bool arms = false;
    };
    std::vector<Recorder*> fired;
    Recorder other(fired);
    TimerWheel wheel(0);
    std::array<Armer, 2> armers;
    for (Armer& armer : armers) {
        armer.wheel = &wheel;
        armer.other = &other;
        armer.arms = &armer == armers.data();
        armer.fire = [](WheelTimer& self) noexcept {
            auto& me = static_cast<Armer&>(self);
            me.arms ? me.wheel->arm(*me.other, 1) : me.wheel->disarm(*me.other);
        };
        wheel.arm(armer, 100);
    }
    EXPECT_EQ(wheel.advance(200), 2u);
    EXPECT_FALSE(other.armed());
    EXPECT_EQ(wheel.armed(), 0u);
    EXPECT_EQ(wheel.next(), time_never);
    EXPECT_EQ(wheel.advance(300), 0u);
}

// The model: which timers are armed, and until when. Timers randomly arm and disarm others while they fire.
class Model {
  public:
    explicit Model(std::uint64_t seed)
        : random_(seed), now_(start_time()), wheel_(now_), timers_(24), expected_(timers_.size(), time_never) {
        for (std::size_t i = 0; i < timers_.size(); ++i) {
            timers_[i].model = this;
            timers_[i].index = i;
            timers_[i].fire = [](WheelTimer& self) noexcept {
                auto& me = static_cast<Modelled&>(self);
                me.model->on_fire(me);
            };
        }
    }

    void run(int steps) {
        for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
            if (random_.chance(3)) {
                advance();
            } else {
                arm_or_disarm(timers_[random_.below(timers_.size())], now_);
            }
            check();
        }
        for (const auto& timer : timers_) {
            if (timer.armed()) target_ = std::max(target_, timer.expires);
        }
        quiet_ = true;
        now_ = target_;
        wheel_.advance(now_);
        EXPECT_EQ(wheel_.armed(), 0u);
        EXPECT_TRUE(std::all_of(expected_.begin(), expected_.end(), [](TimeUs t) { return t == time_never; }));
    }

  private:
    struct Modelled : WheelTimer {
        Model* model = nullptr;
        std::size_t index = 0;
    };

    // Near zero, anywhere, or just before a border at which many digits turn over at once.
    TimeUs start_time() {
        switch (random_.below(3)) {
            case 0:
                return random_.below(1000);
            case 1:
                return random_.next() >> 8;
            default:
                return (TimeUs{1} << (6 + random_.below(50))) - 1 - random_.below(50);
        }
    }
    // Distances from a microsecond to centuries; short ones are frequent.
    TimeUs distance() { return random_.next() >> (10 + random_.below(54)); }

    void arm_or_disarm(Modelled& timer, TimeUs from) {
        TimeUs& expected = expected_[timer.index];
        if (timer.armed()) {
            wheel_.disarm(timer);
            expected = time_never;
            return;
        }
        TimeUs expires = from + distance();
        if (random_.chance(20)) expires = from - std::min(from, distance());
        if (random_.chance(30)) expires = time_never;
        wheel_.arm(timer, expires);
        expected = expires;
    }

    void advance() {
        target_ = now_ + distance();
        const TimeUs next = wheel_.next();
        if (random_.chance(4) && next != time_never) target_ = std::max(now_, next);
        last_fired_ = 0;
        const unsigned before = fired_;
        const unsigned said = wheel_.advance(target_);
        EXPECT_EQ(said, fired_ - before);
        now_ = target_;
        for (const TimeUs expected : expected_) {
            EXPECT_TRUE(expected == time_never || expected > now_) << "was due at " << expected << ", it is " << now_;
        }
    }

    void on_fire(Modelled& timer) {
        ++fired_;
        EXPECT_FALSE(timer.armed());
        EXPECT_NE(expected_[timer.index], time_never) << "fired although not armed";
        EXPECT_EQ(expected_[timer.index], timer.expires);
        EXPECT_LE(timer.expires, target_) << "fired early";
        // Timers that were already late when they were armed fire as soon as possible, the others in order.
        const TimeUs due = std::max(timer.expires, now_);
        EXPECT_GE(due, last_fired_) << "out of order";
        last_fired_ = due;
        expected_[timer.index] = time_never;
        if (!quiet_ && random_.chance(2)) {
            Modelled& other = timers_[random_.below(timers_.size())];
            if (other.armed()) {
                arm_or_disarm(other, due);
            } else {
                const TimeUs expires = due + 1 + distance();
                wheel_.arm(other, expires);
                expected_[other.index] = expires;
            }
        }
    }

    void check() {
        std::uint32_t armed = 0;
        TimeUs earliest = time_never;
        for (const auto& timer : timers_) {
            ASSERT_EQ(timer.armed(), expected_[timer.index] != time_never);
            armed += timer.armed();
            earliest = std::min(earliest, expected_[timer.index]);
        }
        ASSERT_EQ(wheel_.armed(), armed);
        ASSERT_LE(wheel_.next(), std::max(earliest, now_)) << "a sleeper would wake too late";
        ASSERT_EQ(wheel_.next() == time_never, armed == 0);
    }

    Random random_;
    TimeUs now_;
    TimeUs target_ = 0;
    TimeUs last_fired_ = 0;
    unsigned fired_ = 0;
    bool quiet_ = false;
    TimerWheel wheel_;
    std::vector<Modelled> timers_;
    std::vector<TimeUs> expected_;
};

TEST(TimerWheel, RandomWalkAgreesWithTheModel) {
    test::for_each_seed([](std::uint64_t seed) {
        Model model(seed);
        model.run(300);
    });
}

}  // namespace
}  // namespace cinnabar
