#include "engine/train/start_model.hpp"

#include <cstddef>

#include "engine/families/model_folder.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {

StartModel open_start_model(const std::string& path) {
    const ModelFolder folder = open_model_folder(path);
    StartModel model{load_parameters<float>(folder), std::vector<std::string>(static_cast<std::size_t>(folder.config.vocab_size))};
    if (folder.tokenizer != nullptr)
        for (std::size_t id = 0; id < model.words.size(); ++id)
            model.words[id] = folder.tokenizer->token_bytes(static_cast<std::int64_t>(id));
    model.words = words_of(model.words);
    return model;
}

std::vector<std::string> words_of(const std::vector<std::string>& vocabulary) {
    std::vector<std::string> words = vocabulary;
    for (std::size_t id = 0; id < words.size(); ++id)
        if (words[id] == unused_name(id)) words[id].clear();
    return words;
}

}  // namespace attn
