// SPDX-License-Identifier: Apache-2.0
// Why: the target that parses the headers all tests share needs a source.
