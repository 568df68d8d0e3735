"""Profiles of kernels: counters under rocprof's names, and times measured or modelled.

On the emulated device instruction counts and LDS bank conflicts are counted exactly and times are modelled;
on a GPU times are measured. Every figure carries its origin.
"""

from workbench.profile.chiplets import XcdMap, xcd_map
from workbench.profile.counters import COUNTERS, Counter, collect
from workbench.profile.model import TimeModel, model_time
from workbench.profile.profiler import advice, profile
from workbench.profile.results import ProfileResult, StepsProfile
from workbench.profile.timelines import Timeline, timeline
from workbench.profile.timing import SweepResult, TimeResult, sweep, time
from workbench.profile.training_step import StepProfile, profile_step

__all__ = [
    "COUNTERS",
    "Counter",
    "ProfileResult",
    "StepProfile",
    "StepsProfile",
    "SweepResult",
    "TimeModel",
    "TimeResult",
    "Timeline",
    "XcdMap",
    "advice",
    "collect",
    "model_time",
    "profile",
    "profile_step",
    "sweep",
    "time",
    "timeline",
    "xcd_map",
]
