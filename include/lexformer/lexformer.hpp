// SPDX-License-Identifier: MIT
// Everything, floor by floor.
#pragma once

#include "lexformer/version.hpp"

// plain data
#include "lexformer/core/bfloat16.hpp"
#include "lexformer/core/broadcast.hpp"
#include "lexformer/core/device.hpp"
#include "lexformer/core/device_cuda.hpp"
#include "lexformer/core/error.hpp"
#include "lexformer/core/indices.hpp"
#include "lexformer/core/names.hpp"
#include "lexformer/core/options.hpp"
#include "lexformer/core/parallel.hpp"
#include "lexformer/core/ragged.hpp"
#include "lexformer/core/random.hpp"
#include "lexformer/core/shape.hpp"
#include "lexformer/core/tensor.hpp"

// loops over pointers and sizes
#include "lexformer/kernels/attention_cpu.hpp"
#include "lexformer/kernels/cpu.hpp"
#include "lexformer/kernels/cuda.hpp"
#include "lexformer/kernels/dropout_mask.hpp"
#include "lexformer/kernels/elementwise_cpu.hpp"
#include "lexformer/kernels/gemm.hpp"
#include "lexformer/kernels/index_cpu.hpp"
#include "lexformer/kernels/interface.hpp"
#include "lexformer/kernels/loss_cpu.hpp"
#include "lexformer/kernels/relative_rows_cpu.hpp"
#include "lexformer/kernels/row.hpp"
#include "lexformer/kernels/rows_cpu.hpp"
#include "lexformer/kernels/scalar.hpp"
#include "lexformer/kernels/widen_cpu.hpp"

// gradients
#include "lexformer/autograd/gradcheck.hpp"
#include "lexformer/autograd/var.hpp"

// one function per operation
#include "lexformer/ops/attention.hpp"
#include "lexformer/ops/attention_reference.hpp"
#include "lexformer/ops/dropout.hpp"
#include "lexformer/ops/elementwise.hpp"
#include "lexformer/ops/index.hpp"
#include "lexformer/ops/linear_cross_entropy.hpp"
#include "lexformer/ops/loss.hpp"
#include "lexformer/ops/matmul.hpp"
#include "lexformer/ops/operators.hpp"
#include "lexformer/ops/rotary.hpp"
#include "lexformer/ops/rows.hpp"
#include "lexformer/ops/similarity_loss.hpp"

// layers
#include "lexformer/nn/activation.hpp"
#include "lexformer/nn/embedding.hpp"
#include "lexformer/nn/init.hpp"
#include "lexformer/nn/layer_norm.hpp"
#include "lexformer/nn/linear.hpp"
#include "lexformer/nn/module.hpp"

// attention and its terms
#include "lexformer/attention/ddrp.hpp"
#include "lexformer/attention/deberta.hpp"
#include "lexformer/attention/lea.hpp"
#include "lexformer/attention/multi_head.hpp"
#include "lexformer/attention/position_bias.hpp"
#include "lexformer/attention/relative.hpp"
#include "lexformer/attention/rope.hpp"
#include "lexformer/attention/term.hpp"
#include "lexformer/attention/term_factory.hpp"
#include "lexformer/attention/terms.hpp"
#include "lexformer/attention/tupe.hpp"

// text to ids, similarities, typos
#include "lexformer/text/lexical.hpp"
#include "lexformer/text/masking.hpp"
#include "lexformer/text/similarity.hpp"
#include "lexformer/text/typos.hpp"
#include "lexformer/text/unicode.hpp"
#include "lexformer/text/unicode_table.hpp"
#include "lexformer/text/vocab_trainer.hpp"
#include "lexformer/text/vocabulary.hpp"
#include "lexformer/text/wordpiece.hpp"
#include "lexformer/text/words.hpp"

// files
#include "lexformer/io/architecture.hpp"
#include "lexformer/io/checkpoint_dir.hpp"
#include "lexformer/io/config.hpp"
#include "lexformer/io/file.hpp"
#include "lexformer/io/half.hpp"
#include "lexformer/io/json.hpp"
#include "lexformer/io/model_file.hpp"
#include "lexformer/io/npy.hpp"
#include "lexformer/io/options.hpp"
#include "lexformer/io/safetensors.hpp"
#include "lexformer/io/tensor_check.hpp"
#include "lexformer/io/tokenizer_file.hpp"

// tables, batches, text streams
#include "lexformer/data/batch.hpp"
#include "lexformer/data/batch_plan.hpp"
#include "lexformer/data/examples.hpp"
#include "lexformer/data/features.hpp"
#include "lexformer/data/lines.hpp"
#include "lexformer/data/make_batch.hpp"
#include "lexformer/data/masked_batch.hpp"
#include "lexformer/data/pair_dataset.hpp"
#include "lexformer/data/table.hpp"
#include "lexformer/data/text_stream.hpp"

// pictures
#include "lexformer/report/attention_picture.hpp"
#include "lexformer/report/chart.hpp"
#include "lexformer/report/differences.hpp"
#include "lexformer/report/page.hpp"
#include "lexformer/report/svg.hpp"

// optimiser, metrics, runs
#include "lexformer/train/bootstrap.hpp"
#include "lexformer/train/metrics.hpp"
#include "lexformer/train/optimizer.hpp"
#include "lexformer/train/precision_recall.hpp"
#include "lexformer/train/progress.hpp"
#include "lexformer/train/run_log.hpp"
#include "lexformer/train/schedule.hpp"
#include "lexformer/train/state.hpp"

// whole models
#include "lexformer/models/analysis.hpp"
#include "lexformer/models/bert.hpp"
#include "lexformer/models/bert_config.hpp"
#include "lexformer/models/classification_head.hpp"
#include "lexformer/models/cross_encoder.hpp"
#include "lexformer/models/cross_encoder_options.hpp"
#include "lexformer/models/encoder.hpp"
#include "lexformer/models/masked_lm.hpp"
#include "lexformer/models/mth.hpp"
#include "lexformer/models/pretrained.hpp"
