// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Marks what a shared build of the libraries exports; everything else is hidden.
#define CINNABAR_API __attribute__((visibility("default")))
