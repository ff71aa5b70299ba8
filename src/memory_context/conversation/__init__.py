"""One conversation, whichever host keeps it: fold, recall, judge, pass by reference.

`settings` has its policies, `fold` what leaves the prompt, `recall` what comes back.
"""
