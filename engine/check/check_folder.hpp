#pragma once
/// A model's folder against the values that another program computed from it.

#include <filesystem>

#include "engine/check/check.hpp"
#include "engine/check/report.hpp"

namespace attn::check {

/// Opens a folder of Hugging Face's layout or a GGUF file (see open_model_folder) and recomputes what its expected.safetensors, or
/// NAME.expected.safetensors beside NAME.gguf, holds, within the tolerances of expected.json beside it ("errors": {"logits": {"tolerance":
/// ...}, ...}). Names begin with a run, "one.":
///   input_ids, attention_mask (1 = token), position_ids [B,T]   what the model is given
///   logits [B,T,V] · last_hidden_state [B,T,C] · hidden.0 [B,T,C], what enters the first layer · hidden.i, what leaves layer i (counted
///   from 1), the last after the final norm · attn.i.{q,k,v} [B,H,T,D] of layer i (counted from 0), turned by the position ·
///   attn.i.weights [B,H,T,S]
///   generated [1,N]   input_ids of the run and the likeliest token after each beginning
/// Rows of padding are left out; keys of padding have to weigh nothing. Throws IoError naming file and tensor for what cannot be read or
/// is not one of these.
Report check_folder(const std::filesystem::path& folder, const Options& options);

}  // namespace attn::check
