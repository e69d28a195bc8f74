#pragma once
/// Reads the boolean masks of PyTorch's modules (true = may NOT attend) from a reference file.

#include <memory>
#include <string>

#include "engine/check/case_file.hpp"

namespace attn::check {

/// The AND of an attention mask [T,S] or [B H,T,S] and a key padding mask [B,S]; a missing tensor (or empty name) forbids nothing. Throws
/// FileError for a mask of another type or shape.
std::shared_ptr<const Mask> read_masks(const CaseFile& file, const std::string& attention_mask, const std::string& padding_mask,
                                       Mask::Target target);

}  // namespace attn::check
