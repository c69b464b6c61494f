// SPDX-License-Identifier: BSD-3-Clause
// Empty: the target for which the precompiled header of the examples is built.
