// SPDX-License-Identifier: BSD-3-Clause
// The pace beside peers that follow the format but break the rules of use.
#include "pace_fixture.hpp"

namespace cinnabar::rpc {
namespace {

class BesideHostile : public PaceTest {};

TEST_P(BesideHostile, FloodsUnread) { keep_pace("FloodsUnread"); }
TEST_P(BesideHostile, AsksForEverything) { keep_pace("AsksForEverything"); }
TEST_P(BesideHostile, WantsCreditsThenSilent) { keep_pace("WantsCreditsThenSilent"); }
TEST_P(BesideHostile, SendsNoFrames) { keep_pace("SendsNoFrames"); }
TEST_P(BesideHostile, LiesInControl) { keep_pace("LiesInControl"); }
TEST_P(BesideHostile, PingsWithoutEnd) { keep_pace("PingsWithoutEnd"); }
TEST_P(BesideHostile, CancelsWhatIsNotThere) { keep_pace("CancelsWhatIsNotThere"); }
TEST_P(BesideHostile, CancelsWithoutEnd) { keep_pace("CancelsWithoutEnd"); }
TEST_P(BesideHostile, CancelsWhatItAsks) { keep_pace("CancelsWhatItAsks"); }
TEST_P(BesideHostile, FetchesNoResults) { keep_pace("FetchesNoResults"); }
TEST_P(BesideHostile, LendsAndIsSilent) { keep_pace("LendsAndIsSilent"); }
TEST_P(BesideHostile, SendsOneWay) { keep_pace("SendsOneWay"); }
TEST_P(BesideHostile, ReadsAndTakesNothing) { keep_pace("ReadsAndTakesNothing"); }

CINNABAR_OVER_ALL(BesideHostile);

}  // namespace
}  // namespace cinnabar::rpc
