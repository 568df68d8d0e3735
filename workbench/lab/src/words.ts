/** Written by `python -m workbench.lab.words` from the tile library's headers: change these. */

export const FUNCTIONS: ReadonlySet<string> = new Set(
  `
abs accvgpr_read accvgpr_write add add_col add_row arrive async_barrier_arrive atomic_add bin_map bin_op
block_absmax boost_priority broadcast_col broadcast_row bytes_of ceil check_types clamp col_map col_max
col_min col_prod col_reduce col_sum compiler_fence copy copy_numbers copy_scaled cos dequantize_rows dgelu
div div_col div_row dropout ds_read_b32 erf exp exp2 exp_first_half_vec exp_second_half_vec expert_scope
fence fetch fill floor fma_AxBtC fma_AxCtB gather gather_async gelu gelu_tanh get_address groupid
init_barrier laneid ldg lds lds_base left_fill load load_along load_async load_async_wait load_blocks
load_bounded load_bounded_async load_columns load_dequantized load_global_to_register_buffer
load_global_vec2 load_global_vec2_async load_global_vec4 load_global_vec4_async load_scales load_shared_vec
load_shared_vec_async load_tdm load_tdm_arrive lock_simd log log2 lower_fill make_causal make_causal_t map
mask mask_map max mfma1616128_scaled mfma_f32_16x16x32_bf16 mfma_f32_16x16x32_bf16_zero_accum
mfma_f32_16x16x32_fp8_fp8 mfma_f32_16x16x32_fp8_fp8_zero_accum mfma_f32_32x32x16_bf16
mfma_f32_32x32x16_bf16_zero_accum min mma_AB mma_AB_base mma_AB_scaled mma_ABt mma_ABt_agpr mma_ABt_base
mma_ABt_base_scaled mma_ABt_base_zero_accum mma_ABt_scaled mma_AtB mma_AtB_base mma_AtB_base_zero_accum
mma_AtB_scaled mma_AtBt mma_AtBt_base mma_AtBt_scaled mov mul mul_col mul_row neg neg_infty one ones outer
outer_add pack_scales pos_infty power_scale_of prefetch_l2 prefill_swizzled_offsets prod quantize_blocks
quantize_mx quantize_rows rcp reduce relu resource right_fill rotate rotate_pairs round row_argmax
row_cumsum row_map row_max row_min row_prod row_reduce row_scan row_sum row_topk rows_resource rsqrt
scale_of scan_lanes scatter set_expert set_priority settle_agpr sigmoid silu sin softplus sort sqrt start
start_run stg store store_along store_blocks store_bounded store_global_b128_async
store_register_buffer_to_shared store_shared_vec sts sub sub_col sub_fma sub_row sum swap_layout
swap_layout_inplace swap_layout_inplace_copy sync tanh transpose transpose_inplace transpose_sep tri_map
tril triu unary_map unary_op unary_op_first_half_vec unary_op_range unary_op_second_half_vec upper_fill wait
wait_alu wait_async wait_barrier wait_ds wait_km wait_load wait_store wait_tdm warpid wmma161632 zero
zero_agpr
`.split(/\s+/).filter(Boolean)
);
