#pragma once
/// Checks a model's folder against values that another program computed with it.

#include <filesystem>

#include "engine/check/check.hpp"
#include "engine/check/report.hpp"

namespace attn::check {

/// Opens a Hugging Face folder or a GGUF file (see open_model_folder) and recomputes the contents of its expected.safetensors, or of
/// NAME.expected.safetensors beside NAME.gguf, within the tolerances in the corresponding expected.json ("errors": {"logits": {"tolerance":
/// ...}, ...}). Tensor names begin with the name of a run, such as "one.":
///   input_ids, attention_mask (1 = token), position_ids [B,T]   the input
///   logits [B,T,V] · last_hidden_state [B,T,C] · hidden.0 [B,T,C], the input of the first layer · hidden.i, the output of layer i
///   (from 1), the last one after the final norm · attn.i.{q,k,v} [B,H,T,D] of layer i (from 0), after rotation · attn.i.weights [B,H,T,S]
///   generated [1,N]   the run's input_ids and their greedy continuation
/// Rows of padding are skipped; keys of padding must have weight 0. Throws IoError naming the file and the tensor for anything that cannot
/// be read or is not listed here.
Report check_folder(const std::filesystem::path& folder, const Options& options);

}  // namespace attn::check
