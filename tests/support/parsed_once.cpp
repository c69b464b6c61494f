// SPDX-License-Identifier: BSD-3-Clause
// Intentionally empty: the precompiled headers of the tests are built for this target.
