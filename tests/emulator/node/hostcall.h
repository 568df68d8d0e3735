// The device's side of ROCm's hostcall protocol and of its printf, written from the layouts that
// workbench/emulator/node/hostcall.py documents, for tests on computers without ROCm's device libraries. The functions
// of printf have the names that clang calls.
#pragma once

using u32 = unsigned;
using u64 = unsigned long;

struct hostcall_header {
    u64 next;
    u64 lanes;
    u32 service;
    u32 control;
};
struct hostcall_signal {
    long kind;
    long value;
    u64 mailbox;
    u32 event;
};
struct hostcall_buffer {
    hostcall_header *headers;
    u64 (*payloads)[64][8];
    hostcall_signal *doorbell;
    u64 free_stack;
    u64 ready_stack;
    u64 index_mask;
};

// Hidden arguments of code objects of version 5 and later.
template <typename T>
__device__ inline T *hidden_pointer(int offset) {
    auto *hidden = (const __attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr();
    return *(T *const __attribute__((address_space(4))) *)(hidden + offset);
}

__device__ inline bool exchange(u64 *place, u64 &seen, u64 wanted) {
    return __hip_atomic_compare_exchange_strong(place, &seen, wanted, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED,
                                                __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline u64 load(u64 *place) { return __hip_atomic_load(place, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM); }
__device__ inline u64 first_of(u64 value) {
    return __builtin_amdgcn_readfirstlane(u32(value)) | u64(__builtin_amdgcn_readfirstlane(u32(value >> 32))) << 32;
}

// Sends eight words of every active lane to a service; the first word of the answer.
__device__ __attribute__((noinline)) u64 hostcall(u32 service, u64 a0, u64 a1 = 0, u64 a2 = 0, u64 a3 = 0, u64 a4 = 0,
                                                  u64 a5 = 0, u64 a6 = 0, u64 a7 = 0) {
    auto *buffer = hidden_pointer<hostcall_buffer>(80);
    const u32 lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    const u64 lanes = __builtin_amdgcn_read_exec();
    const bool leads = lane == u32(__builtin_ctzl(lanes));
    u64 packet = 0;
    if (leads) {
        packet = load(&buffer->free_stack);
        while (!exchange(&buffer->free_stack, packet, load(&buffer->headers[packet & buffer->index_mask].next)))
            __builtin_amdgcn_s_sleep(1);
    }
    packet = first_of(packet);
    hostcall_header *header = &buffer->headers[packet & buffer->index_mask];
    u64 *slot = buffer->payloads[packet & buffer->index_mask][lane];
    if (leads) {
        header->service = service;
        header->lanes = lanes;
        header->control = 1;
    }
    const u64 words[8] = {a0, a1, a2, a3, a4, a5, a6, a7};
    for (int i = 0; i < 8; i++) slot[i] = words[i];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    if (leads) {
        u64 top = load(&buffer->ready_stack);
        do header->next = top;
        while (!exchange(&buffer->ready_stack, top, packet));
        __hip_atomic_fetch_add(&buffer->doorbell->value, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    }
    for (;;) {
        u32 busy = 1;
        if (leads) busy = __hip_atomic_load(&header->control, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) & 1;
        if (__builtin_amdgcn_readfirstlane(busy) == 0) break;
        __builtin_amdgcn_s_sleep(1);
    }
    const u64 answer = slot[0];
    if (leads) {
        u64 next = packet + buffer->index_mask + 1;
        if (next == 0) next = buffer->index_mask + 1;
        u64 top = load(&buffer->free_stack);
        do header->next = top;
        while (!exchange(&buffer->free_stack, top, next));
    }
    return answer;
}

enum : u64 { message_begins = 1, message_ends = 2 };

__device__ inline u64 send_words(u64 message, u32 count, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6,
                                 u32 last) {
    message = (message & ~(7ul << 5)) | u64(count) << 5 | (last ? message_ends : 0);
    return hostcall(2, message, a0, a1, a2, a3, a4, a5, a6);
}

// A text of this many bytes, including its terminator.
__device__ inline u64 send_text(u64 message, const char *text, u64 length, u32 last) {
    if (text == nullptr) return send_words(message, 1, 0, 0, 0, 0, 0, 0, 0, last);
    for (;;) {
        u64 words[7] = {};
        const u64 now = length < 56 ? length : 56;
        for (u64 i = 0; i < now; i++) words[i / 8] |= u64((unsigned char)text[i]) << 8 * (i % 8);
        message = send_words(message, u32((now + 7) / 8), words[0], words[1], words[2], words[3], words[4], words[5],
                             words[6], last && now == length);
        text += now;
        length -= now;
        if (length == 0) return message;
    }
}

extern "C" {
__device__ u64 __ockl_printf_begin(u64 stream) { return hostcall(2, message_begins | 1ul << 5, stream); }
__device__ u64 __ockl_printf_append_args(u64 message, u32 count, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6,
                                         u32 last) {
    return send_words(message, count, a0, a1, a2, a3, a4, a5, a6, last);
}
__device__ u64 __ockl_printf_append_string_n(u64 message, const char *text, u64 length, u32 last) {
    return send_text(message, text, length, last);
}

// Space in the buffer of printf's other implementation, -mprintf-kind=buffered.
__device__ void *__printf_alloc(u32 bytes) {
    u32 *head = hidden_pointer<u32>(72);
    const u32 start = __hip_atomic_fetch_add(head, bytes, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return start + bytes + 8 > head[1] ? nullptr : (char *)(head + 2) + start;
}
}
