// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Marks symbols that shared libraries export; all others are hidden.
#define CINNABAR_API __attribute__((visibility("default")))
