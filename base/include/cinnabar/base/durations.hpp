// SPDX-License-Identifier: BSD-3-Clause
// The durations, time points and clocks of std::chrono, for headers that every program includes. <chrono> also has
// calendars, and reads the streams that print them (decision 0123); programs that want those include it.
#pragma once

#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>  // what libstdc++ itself includes for <mutex> and <thread>
#else
#include <chrono>
#endif
