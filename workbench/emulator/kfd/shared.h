/* What the library in a program's process (interposer.c) and the device in its own process (queues.c, server.py) share:
 * a page of state at CONTROL_OFFSET of the program's memory file, and the messages of their socket. Python reads this
 * file with cffi, so it has declarations alone. */
#pragma once
#include <stdint.h>

#define CONTROL_OFFSET 0x10000
#define CONTROL_BYTES 0x40000
#define MOST_QUEUES 1024
#define MOST_EVENTS 4096

enum { MESSAGE_HELLO = 1, MESSAGE_MAP, MESSAGE_UNMAP, MESSAGE_QUEUE, MESSAGE_QUEUE_END, MESSAGE_CODE, MESSAGE_TIMES };
enum { MEMORY_DEVICE = 1, MEMORY_HOST };

/* The answer to each is an errno, 0 if all is well. MAP and CODE come with a file. */
typedef struct Message {
    uint32_t kind;
    uint32_t what; /* MAP: MEMORY_*; QUEUE: 1 for AQL, 0 for SDMA */
    uint64_t id;   /* QUEUE, QUEUE_END: its number */
    uint64_t base, size, offset;
    uint64_t read_pointer, write_pointer; /* QUEUE: addresses */
} Message;

typedef struct Event {
    uint32_t used, type, auto_reset, signaled;
    uint64_t age; /* 1, and one more each time that it is set */
} Event;

typedef struct Control {
    uint64_t doorbells[MOST_QUEUES]; /* first, since programs map this page */
    uint32_t bell;                   /* futex: changes with a doorbell that the library saw */
    uint32_t sleeping;               /* threads of the device that wait for it */
    uint32_t turn;                   /* futex: changes with each event that is set */
    uint32_t untimed;                /* launches whose modelled time is not in the signals yet */
    uint64_t fault_address;          /* of the access that a memory event reports */
    Event events[MOST_EVENTS];
} Control;

/* What the ioctls report of the product: the contents of the file "facts", which topology.py writes. Bytes; kHz. */
typedef struct Facts {
    uint64_t gpu_id, vram, vram_limit, host, device_id, units, engines, arrays, clock_khz, memory_clock_khz, bus_bits,
        wave_size;
} Facts;

/* Of KFD's event types, the two that the device sets without being asked. */
enum { EVENT_SIGNAL = 0, EVENT_EXCEPTION = 3, EVENT_MEMORY = 8 };

/* What a queue of the device has for Python: a kernel, whose packet is at the address; an access to an address where no
 * memory is mapped; a packet that is not known, whose name is the text at the address. */
enum { WORK_NONE, WORK_KERNEL, WORK_FAULT, WORK_UNKNOWN };

/* Registers that packets set and read: by SELECTS, a program chooses the events of COUNTERS, to which counters.py adds
 * after each kernel. The first instance of a block counts for all. */
enum {
    UCONFIG_START = 0xc000,
    GRBM_GFX_INDEX = 0xc200,
    COUNTERS_START = 0xd000,
    COUNTERS_END = 0xd800,
    CP_PERFMON_CNTL = 0xd808,
    SELECTS_START = COUNTERS_END,
    SELECTS_END = 0xe000,
    UCONFIG_END = 0x10000
};
