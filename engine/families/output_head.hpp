#pragma once
/// Which output head a model has, as its files say rather than its config.json.

#include "engine/families/model_folder.hpp"

namespace attn {

/// The tensor of a source, under its own name or that of another tensor tied to it; null if there is none.
const WeightFiles::Tensor* find_tensor(const ModelFolder& folder, const TensorSource& source);
/// Changes the configuration where the files have another head than config.json says: one of their own, one without bias, or none.
void fit_output_head(ModelFolder& folder);
/// Refuses a tensor that should be a copy of the word embedding and is not, in families that cannot have a head of their own.
void expect_copies(const ModelFolder& folder);

}  // namespace attn
