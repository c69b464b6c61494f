// SPDX-License-Identifier: BSD-3-Clause
// The durations, time points and clocks of std::chrono, for headers that every program includes. <chrono> itself is
// larger, because it also has calendars and includes the streams that print them (decision 0123); programs that want
// calendars include <chrono>.
#pragma once

#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>  // what libstdc++ itself includes for <mutex> and <thread>
#else
#include <chrono>
#endif
