// SPDX-License-Identifier: BSD-3-Clause
// Empty: the precompiled header of the examples is built for the target of this file.
