"""Webhooks: what clients are told, sent to where they want it.

    signing    who sends it, as the Standard Webhooks specification has it
    policy     what an answer means, and when to try again
    answers    what an endpoint may send, and no more
    sending    one request, to an address that may be called
    cursors    how far each webhook is, on disk
    worker     one webhook: in order, one request at a time
    makers     whether whoever made a webhook still may
    service    the process that holds the lease: a worker a webhook
    metrics    what is counted

Who wants what sent where is the gateway's to say: `nearcast.gateway.hooks`.
"""
