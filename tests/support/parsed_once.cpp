// SPDX-License-Identifier: BSD-3-Clause
// Nothing of its own: the target that the tests' precompiled headers are made for.
