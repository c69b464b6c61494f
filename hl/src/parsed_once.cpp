// SPDX-License-Identifier: BSD-3-Clause
// Empty: the target for which the precompiled headers of the rooms above rpc are built.
