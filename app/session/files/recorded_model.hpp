#pragma once
/// Makes a model of a recording and opens it.

#include <filesystem>
#include <stop_token>
#include <string>

#include "app/session/document/document.hpp"
#include "app/session/states/opened_recording.hpp"

namespace attn::app {

struct OpenedAsModel {
    std::filesystem::path folder;  ///< where the model is now
    Document document;             ///< shows what was recorded, in the model
    std::string proof;             ///< see recording::RecordedModel::proof()
};

/// Writes the recorded step as a model into a folder of its own in that of the recording, unless it is there already. Throws as
/// recording::model_of_recording(), and FileError if nothing can be written there.
OpenedAsModel open_as_model(const RecordedNumbers& recorded, const std::stop_token& stop);

}  // namespace attn::app
