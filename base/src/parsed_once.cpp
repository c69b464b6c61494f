// SPDX-License-Identifier: BSD-3-Clause
// Intentionally empty: the precompiled headers of the modules up to rpc are built for the target of this file.
