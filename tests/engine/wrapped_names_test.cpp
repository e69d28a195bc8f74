/// Checkpoints whose tensors have other names than their family gives them: wrappers' prefixes, and tied tensors under another name.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/check/check.hpp"
#include "engine/train/checkpoint.hpp"
#include "tests/engine/copied_folder.hpp"

namespace attn {
namespace {

using test::Copied;
using test::tensor_named;
using testing::Contains;
using testing::HasSubstr;

using Rename = std::function<std::string(const std::string&)>;

void rename_all(const Copied& folder, const Rename& renamed) {
    folder.change_tensors([&](ArrayFile& file) {
        for (NamedArray& array : file.arrays) array.name = renamed(array.name);
    });
}

std::string inserted(std::string name, std::string_view after, std::string_view what) {
    if (name.starts_with(after)) name.insert(after.size(), what);
    return name;
}

/// What transformers computed from the file before its tensors were renamed.
void expect_same_results(const Copied& folder, const std::string& what) {
    const check::Report report = check::check_file(folder.path());
    EXPECT_TRUE(report.ok()) << what;
    EXPECT_GT(report.tensors.size(), 10U) << what;
}

struct TiedName {
    const char *folder, *usual, *other;
};

/// The keys that transformers ties (`_tied_weights_keys` of its classes), of which a file may have any one.
constexpr TiedName kTiedNames[] = {
    {"gpt2", "transformer.wte.weight", "lm_head.weight"},
    {"gpt2_hub", "wte.weight", "lm_head.weight"},
    {"gpt_neo", "transformer.wte.weight", "lm_head.weight"},
    {"llama_tied", "model.embed_tokens.weight", "lm_head.weight"},
    {"qwen2", "model.embed_tokens.weight", "lm_head.weight"},
    {"smollm3", "model.embed_tokens.weight", "lm_head.weight"},
    {"gemma", "model.embed_tokens.weight", "lm_head.weight"},
    {"gemma2", "model.embed_tokens.weight", "lm_head.weight"},
    {"gemma3", "model.embed_tokens.weight", "lm_head.weight"},
    {"opt", "model.decoder.embed_tokens.weight", "lm_head.weight"},
    {"opt_post", "model.decoder.embed_tokens.weight", "lm_head.weight"},
    {"bloom", "transformer.word_embeddings.weight", "lm_head.weight"},
    {"falcon", "transformer.word_embeddings.weight", "lm_head.weight"},
    {"bert", "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
    {"bert", "cls.predictions.bias", "cls.predictions.decoder.bias"},
    {"roberta", "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"},
    {"roberta", "lm_head.bias", "lm_head.decoder.bias"},
    {"t5", "shared.weight", "decoder.embed_tokens.weight"},
    {"t5", "shared.weight", "encoder.embed_tokens.weight"},
    {"t5", "shared.weight", "lm_head.weight"},
    {"t5_v1_1", "shared.weight", "decoder.embed_tokens.weight"},
    {"bart", "model.shared.weight", "model.decoder.embed_tokens.weight"},
    {"bart", "model.shared.weight", "model.encoder.embed_tokens.weight"},
    {"bart", "model.shared.weight", "lm_head.weight"},
};

TEST(TiedNames, AnyOneIsEnough) {
    for (const TiedName& c : kTiedNames) {
        const Copied folder(c.folder);
        folder.change_tensors([&](ArrayFile& file) { tensor_named(file, c.usual).name = c.other; });
        expect_same_results(folder, fmt::format("{} without {}", c.folder, c.usual));
    }
}

/// An embedding that is not tied is missing, whatever the head is.
TEST(TiedNames, AHeadOfItsOwnIsNoEmbedding) {
    const Copied folder("mistral");
    folder.change_tensors([](ArrayFile& file) {
        std::erase_if(file.arrays, [](const NamedArray& array) { return array.name == "model.embed_tokens.weight"; });
    });
    EXPECT_THAT(folder.refusal(), HasSubstr("1 of 21 tensors are missing: model.embed_tokens.weight"));
}

/// T5 of transformers 5 has a head of its own although it is tied, whichever name the embedding has.
TEST(TiedNames, AHeadOfItsOwnIsFoundBesideAnyOfThem) {
    const Copied folder("t5");
    folder.change_tensors([](ArrayFile& file) {
        NamedArray& words = tensor_named(file, "shared.weight");
        words.name = "decoder.embed_tokens.weight";
        NamedArray head = words;
        head.name = "lm_head.weight";
        for (std::size_t i = 0; i < head.bytes.size() / sizeof(float); ++i) test::add_to_element(head, i, 0.5F);
        file.arrays.insert(file.arrays.begin(), std::move(head));
    });
    const ModelFolder own = open_model_folder(folder.path());
    EXPECT_FALSE(own.config.tied_lm_head);
    for (const TensorUse& use : own.tensors) EXPECT_FALSE(use.parameters.empty()) << use.tensor->array.name;
}

struct Wrapped {
    const char* what;
    std::vector<const char*> folders;
    Rename renamed;
    const char* said;
};

Rename with_prefix(const std::string& prefix) {
    return [prefix](const std::string& name) { return prefix + name; };
}

TEST(WrappedNames, AreReadWithoutTheWrapper) {
    const std::vector<const char*> some = {"gpt2", "llama_tied", "mistral", "opt",  "gpt_neox",
                                           "bert", "roberta",    "t5",      "bart", "distilbert"};
    const std::vector<Wrapped> all = {
        {"torch.compile", some, with_prefix("_orig_mod."), "\"_orig_mod.\""},
        {"DistributedDataParallel", some, with_prefix("module."), "\"module.\""},
        {"both", some, with_prefix("_orig_mod.module."), "\"_orig_mod.\" and \"module.\""},
        {"both, the other way round", some, with_prefix("module._orig_mod."), "\"module.\" and \"_orig_mod.\""},
        {"a module of one's own", some, with_prefix("model."), "\"model.\""},
        {"one of several parts", some, with_prefix("student.net."), "\"student.net.\""},
        {"everything", some, with_prefix("module.student._orig_mod."), "\"module.\" and \"_orig_mod.\" and \"student.\""},
        {"without the family's own prefix", {"gpt2_hub"}, with_prefix("module."), "\"module.\""},
        {"only the layers compiled",
         {"llama_tied", "mistral"},
         [](const std::string& name) { return inserted(name, "model.", "_orig_mod."); },
         "\"_orig_mod.\""},
        {"each layer compiled",
         {"gpt2"},
         [](const std::string& name) {
             return inserted(inserted(name, "transformer.h.0.", "_orig_mod."), "transformer.h.1.", "_orig_mod.");
         },
         "\"_orig_mod.\""},
    };
    for (const Wrapped& c : all)
        for (const char* name : c.folders) {
            const Copied folder(name);
            rename_all(folder, c.renamed);
            expect_same_results(folder, fmt::format("{}, {}", c.what, name));
            EXPECT_THAT(open_model_folder(folder.path()).notes, Contains(HasSubstr(fmt::format("read without {},", c.said))));
        }
}

TEST(WrappedNames, OfATiedHeadAreReadToo) {
    const Copied folder("llama_tied");
    rename_all(folder, [](const std::string& name) {
        return "module." + (name == "model.embed_tokens.weight" ? std::string("lm_head.weight") : name);
    });
    expect_same_results(folder, "module.lm_head.weight alone");
}

TEST(WrappedNames, InTheFilesOfAnIndexAreReadToo) {
    const Copied folder("llama");
    for (const char* file : {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"})
        folder.change_tensors(
            [](ArrayFile& tensors) {
                for (NamedArray& array : tensors.arrays) array.name.insert(0, "module.");
            },
            file);
    std::string index = test::file_bytes(folder.path() / "model.safetensors.index.json");
    for (const char* start : {"\"model.", "\"lm_head."})
        for (std::size_t at = 0; (at = index.find(start, at)) != std::string::npos; at += 8)
            if (index.compare(at, 18, "\"model.safetensors") != 0) index.insert(at + 1, "module.");
    std::size_t shards = 0;
    for (std::size_t at = 0; (at = index.find("\"module.model-", at)) != std::string::npos; ++shards) index.erase(at + 1, 7);
    test::put_file(folder.path() / "model.safetensors.index.json", index);
    expect_same_results(folder, "an index of files");
}

/// What lies beside the model in the file is no part of it, and its usual names need no guess.
TEST(WrappedNames, WhatIsBesideTheModelIsLeftOut) {
    const Copied folder("gpt2"), usual("gpt2");
    const auto with_copy = [](ArrayFile& file, std::string_view model, std::string_view other) {
        for (std::size_t i = 0, count = file.arrays.size(); i < count; ++i) {
            if (file.arrays[i].name.starts_with("transformer.ln_f")) {
                NamedArray more = file.arrays[i];
                more.name.insert(0, other);
                file.arrays.push_back(std::move(more));
            }
            file.arrays[i].name.insert(0, model);
        }
    };
    folder.change_tensors([&](ArrayFile& file) { with_copy(file, "module.", "loss."); });
    usual.change_tensors([&](ArrayFile& file) { with_copy(file, "", "ema."); });
    expect_same_results(folder, "with a loss");
    expect_same_results(usual, "with averages");
    EXPECT_THAT(open_model_folder(usual.path()).notes, testing::Not(Contains(HasSubstr("read without"))));
}

TEST(WrappedNames, OfTwoModelsAreRefused) {
    const Copied folder("gpt2");
    folder.change_tensors([](ArrayFile& file) {
        for (std::size_t i = 0, count = file.arrays.size(); i < count; ++i) {
            NamedArray more = file.arrays[i];
            more.name.insert(0, "teacher.");
            file.arrays.push_back(std::move(more));
            file.arrays[i].name.insert(0, "student.");
        }
    });
    EXPECT_THAT(folder.refusal(), HasSubstr("has two models: the names of one begin with \"student.\", of the other with \"teacher.\""));
}

TEST(WrappedNames, OfAMissingTensorAreSaid) {
    const Copied folder("gpt2");
    folder.change_tensors([](ArrayFile& file) {
        std::erase_if(file.arrays, [](const NamedArray& array) { return array.name == "transformer.ln_f.bias"; });
        for (NamedArray& array : file.arrays) array.name.insert(0, "module.");
    });
    EXPECT_THAT(folder.refusal(), HasSubstr("1 of 28 tensors are missing: transformer.ln_f.bias; the names are read without \"module.\""));
}

/// Without the adapter the model computes something else.
TEST(WrappedNames, WithAnAdapterThatIsNotMergedAreRefused) {
    const Copied folder("llama_tied");
    folder.change_tensors([](ArrayFile& file) {
        NamedArray part = tensor_named(file, "model.layers.0.self_attn.q_proj.weight");
        part.name = "model.layers.0.self_attn.q_proj.lora_A.default.weight";
        file.arrays.push_back(std::move(part));
        for (NamedArray& array : file.arrays) array.name.insert(0, "base_model.");
    });
    EXPECT_THAT(folder.refusal(), HasSubstr("q_proj.lora_A.default.weight: belongs to an adapter; merge it into the model first"));
}

/// GPT-2's weights alone, with the config.json beside them.
TEST(WrappedNames, OfASingleFileAreReadToo) {
    const auto logits = [](const std::filesystem::path& file) {
        const Checkpoint checkpoint = read_checkpoint(file);
        const MatrixView head = checkpoint.parameters->view("token_embedding.weight");
        return std::pair(checkpoint.settings.model, head.at(3, 1));
    };
    const Copied usual("gpt2");
    const auto expected = logits(usual.path() / "model.safetensors");
    for (const Rename& renamed :
         {with_prefix("module."), with_prefix("_orig_mod.module."), with_prefix("lit."),
          Rename([](const auto& name) { return name == "transformer.wte.weight" ? std::string("lm_head.weight") : name; })}) {
        const Copied folder("gpt2");
        rename_all(folder, renamed);
        EXPECT_EQ(logits(folder.path() / "model.safetensors"), expected) << renamed("transformer.wte.weight");
    }
}

}  // namespace
}  // namespace attn
